import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState, useSyncExternalStore, type JSX } from "react";
import {
  listedOperations,
  referenceOptions,
  type Capability,
  type ListedOperation,
  type Operation,
} from "../../api/reference.ts";
import { Announcer } from "../../parts/announce.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { isTyping, useRowKeys } from "../../parts/row-keys.ts";
import { Method, OperationView } from "./operation-view.tsx";
import { Overview } from "./overview.tsx";
import "./reference.css";

/** All operations of the API by capability, with search, details and a form to try them. The URL ends in the operation ID. */
export function ReferencePage(): JSX.Element {
  const { data: reference, error, refetch } = useQuery(referenceOptions);
  const [key, setKey] = useState("");
  const hash = useSyncExternalStore(listenToHash, () => location.hash);
  const id = decodeURIComponent(hash.slice(1));
  const operation = reference?.byId.get(id);
  useEffect(() => {
    document.title = "Millrace API";
  }, []);
  return (
    <>
      <Announcer />
      <div className="reference">
        <a className="button skip" href="#content" onClick={skipToContent}>
          Skip to content
        </a>
        <OperationList capabilities={reference?.capabilities ?? listedOperations} chosen={id} />
        <main id="content" className="content" tabIndex={-1}>
          {error !== null && reference === undefined ? (
            <Failure fault={error} retry={() => void refetch()} />
          ) : reference === undefined ? (
            <Loading what="the API reference" />
          ) : operation ? (
            <OperationView
              key={operation.id}
              operation={operation}
              reference={reference}
              pastedKey={{ value: key, set: setKey }}
            />
          ) : (
            <Overview reference={reference} unknown={id} />
          )}
        </main>
      </div>
    </>
  );
}

/** The URL hash holds the operation, so the skip link must not change it. */
function skipToContent(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function listenToHash(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}

function OperationList({
  capabilities,
  chosen,
}: {
  readonly capabilities: readonly Capability[];
  /** The operation ID in the URL. */
  readonly chosen: string;
}): JSX.Element {
  const [text, setText] = useState("");
  // On a narrow screen the list is above the operation and folds when one is chosen.
  const [openAt, setOpenAt] = useState<string | null>(null);
  const open = openAt === chosen;
  const setOpen = (isOpen: boolean): void => setOpenAt(isOpen ? chosen : null);
  const rows = useRowKeys<HTMLElement>();
  useSearchKey();
  // An address may lead to an operation far down the list.
  useEffect(() => {
    const entry = rows.current?.querySelector("[aria-current=page]");
    entry?.scrollIntoView({ block: "nearest" });
  }, [rows, chosen]);
  const found = useMemo(() => search(capabilities, text), [capabilities, text]);
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
          {open ? "Hide operations" : "Show operations"}
        </button>
      </p>
      <nav ref={rows} className={`reference-list ${open ? "reference-open" : ""}`} aria-label="Operations">
        {found.map(({ name, operations }) => (
          <section key={name} aria-label={name}>
            <h2 className="small">{name}</h2>
            <ul>
              {operations.map((each) => (
                <li key={each.id}>
                  <a data-row href={`#${each.id}`} aria-current={each.id === chosen ? "page" : undefined}>
                    <Method method={each.method} /> <span className="wrap">{each.summary}</span>
                  </a>
                </li>
              ))}
            </ul>
          </section>
        ))}
        {count === 0 && <p className="muted">No matching operations.</p>}
      </nav>
    </header>
  );
}

/** Operations that contain all words of the query, by capability. */
function search(capabilities: readonly Capability[], text: string): readonly Capability[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return capabilities;
  return capabilities
    .map(({ name, operations }) => ({
      name,
      operations: operations.filter((each) => {
        const { id, method, path, summary, tag, description = "" }: ListedOperation & Partial<Operation> = each;
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
