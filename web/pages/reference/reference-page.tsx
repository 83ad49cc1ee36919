import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { JSX } from "react";
import { toProblem } from "../../api/problem.ts";
import { referenceOptions } from "../../api/reference.ts";
import type { Operation, Reference } from "../../api/reference.ts";
import { Announcer } from "../../parts/announce.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { isTyping, useRowKeys } from "../../parts/table.tsx";
import { Method, OperationView } from "./operation-view.tsx";
import { Overview } from "./overview.tsx";
import type { PastedKey } from "./try-form.tsx";
import "./reference.css";

/** Every operation of the API by capability, to find, to read and to try. Its address ends in the operation's id. */
export function ReferencePage(): JSX.Element {
  const { data: reference, error, refetch } = useQuery(referenceOptions);
  const [key, setKey] = useState("");
  useEffect(() => {
    document.title = "Millrace API";
  }, []);
  return (
    <>
      <Announcer />
      {reference ? (
        <Loaded reference={reference} pastedKey={{ value: key, set: setKey }} />
      ) : (
        <main className="gate">
          {error ? (
            <Failure fault={toProblem(error)} retry={() => void refetch()} />
          ) : (
            <Loading what="the API reference" />
          )}
        </main>
      )}
    </>
  );
}

function Loaded({
  reference,
  pastedKey,
}: {
  readonly reference: Reference;
  readonly pastedKey: PastedKey;
}): JSX.Element {
  const hash = useSyncExternalStore(listenToHash, () => location.hash);
  const id = decodeURIComponent(hash.slice(1));
  const operation = reference.byId.get(id);
  return (
    <div className="reference">
      <a className="button skip" href="#content" onClick={skipToContent}>
        Skip to the page
      </a>
      <OperationList reference={reference} chosen={operation} />
      <main id="content" className="content" tabIndex={-1}>
        {operation ? (
          <OperationView key={operation.id} operation={operation} reference={reference} pastedKey={pastedKey} />
        ) : (
          <Overview reference={reference} unknown={id} />
        )}
      </main>
    </div>
  );
}

/** The address says which operation is shown: skipping must not change it. */
function skipToContent(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function listenToHash(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}

function OperationList({
  reference,
  chosen,
}: {
  readonly reference: Reference;
  readonly chosen: Operation | undefined;
}): JSX.Element {
  const [text, setText] = useState("");
  // On a narrow screen the list stands above the operation: folded where one is chosen.
  const [openAt, setOpenAt] = useState<string | null>(null);
  const at = chosen?.id ?? "";
  const open = openAt === at;
  const setOpen = (isOpen: boolean): void => setOpenAt(isOpen ? at : null);
  const rows = useRowKeys<HTMLElement>();
  useSearchKey();
  const found = useMemo(() => search(reference, text), [reference, text]);
  const count = found.reduce((sum, { operations }) => sum + operations.length, 0);
  const [first] = found[0]?.operations ?? [];
  return (
    <header className="side reference-side">
      <a className="brand" href="/console">
        <Icon name="home" /> Millrace <span className="muted">API</span>
      </a>
      <input
        className="input"
        type="search"
        aria-label="Search operations"
        placeholder="Search operations  /"
        data-search
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setOpen(true);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && first) location.hash = first.id;
          else if (event.key === "ArrowDown") rows.current?.querySelector<HTMLElement>("[data-row]")?.focus();
          else return;
          event.preventDefault();
        }}
      />
      <p className="small muted row" role="status">
        {count} operations
        <button
          type="button"
          className="button button-small reference-unfold"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {open ? "Fold the list" : "Show the list"}
        </button>
      </p>
      <nav ref={rows} className={`reference-list ${open ? "reference-open" : ""}`} aria-label="Operations">
        {found.map(({ name, operations }) => (
          <section key={name} aria-label={name}>
            <h2 className="small">{name}</h2>
            <ul>
              {operations.map((each) => (
                <li key={each.id}>
                  <a data-row href={`#${each.id}`} aria-current={each === chosen ? "page" : undefined}>
                    <Method method={each.method} /> <span className="wrap">{each.summary}</span>
                  </a>
                </li>
              ))}
            </ul>
          </section>
        ))}
        {count === 0 && <p className="muted">No operation matches.</p>}
      </nav>
    </header>
  );
}

/** Operations that hold every word, capability by capability. */
function search({ capabilities }: Reference, text: string): Reference["capabilities"] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return capabilities;
  return capabilities
    .map(({ name, operations }) => ({
      name,
      operations: operations.filter(({ id, method, path, summary, description, tag }) => {
        const all = `${id} ${method} ${path} ${summary} ${description} ${tag}`.toLowerCase();
        return words.every((word) => all.includes(word));
      }),
    }))
    .filter(({ operations }) => operations.length > 0);
}

function useSearchKey(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      document.querySelector<HTMLElement>("[data-search]")?.focus();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
