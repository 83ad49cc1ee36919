import type { JSX } from "react";
import type { Reference } from "../../api/reference.ts";
import { Notice } from "../../parts/states.tsx";
import { Prose } from "./prose.tsx";

/** Start page of the reference: rules for all operations, and the list of resources. */
export function Overview({
  reference: { info, capabilities },
  unknown,
}: {
  readonly reference: Reference;
  /** The operation ID in the URL if no operation has it. */
  readonly unknown: string;
}): JSX.Element {
  return (
    <div className="stack">
      <h1>
        {info.title} <span className="muted">version {info.version}</span>
      </h1>
      {unknown !== "" && unknown !== "content" && (
        <Notice tone="warn">
          <span className="wrap">Operation {unknown} not found.</span>
        </Notice>
      )}
      <Prose text={info.description} />
      <p>
        This page is generated from the <a href="/openapi.json">OpenAPI document</a>, which you can also use to generate
        clients. You can send requests from here with your console session or an API key.
      </p>
      <h2>Resources</h2>
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
