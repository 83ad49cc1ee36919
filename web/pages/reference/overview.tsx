import type { JSX } from "react";
import type { Reference } from "../../api/reference.ts";
import { Notice } from "../../parts/states.tsx";
import { Prose } from "./prose.tsx";

/** Where the reference begins: what holds for every operation, and the capabilities. */
export function Overview({
  reference: { info, capabilities },
  unknown,
}: {
  readonly reference: Reference;
  /** What the address asks for, where no operation is called that. */
  readonly unknown: string;
}): JSX.Element {
  return (
    <div className="stack">
      <h1>
        {info.title} <span className="muted">version {info.version} of the interface</span>
      </h1>
      {unknown !== "" && unknown !== "content" && (
        <Notice tone="warn">
          <span className="wrap">There is no operation {unknown}.</span>
        </Notice>
      )}
      <Prose text={info.description} />
      <p>
        <a href="/openapi.json">The OpenAPI document</a> is what this page is made of; clients can be generated from it.
        Requests can be sent from here: with the session of who is signed in to the console, or with a key.
      </p>
      <h2>Capabilities</h2>
      <ul className="reference-capabilities">
        {capabilities.map(({ name, operations }) => (
          <li key={name} className="panel">
            <a href={`#${operations[0]?.id ?? ""}`}>{name}</a>{" "}
            <span className="small muted">
              {operations.length} {operations.length === 1 ? "operation" : "operations"}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
