import { useState, type JSX } from "react";
import { beginning } from "../../src/domain/marks.ts";
import { CopyButton } from "./copy.tsx";
import "./value.css";

/** Characters and items of a long value that are drawn at first, so that a value of 10 MB costs no more than a short one. */
const CHARACTERS = 4000;
const MEMBERS = 100;
/** Nesting levels that are open from the start. */
const OPEN_DEPTH = 2;
const MAX_DEPTH = 60;

/** A JSON value, always shown as text: nothing in it becomes markup or a link. */
export function Value({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  return (
    <div className="stack-tight">
      <div className="value value-box" role="group" aria-label={label} tabIndex={0}>
        <Part value={value} depth={0} />
      </div>
      <div className="row">
        <CopyValue value={value} label={label} />
      </div>
    </div>
  );
}

function CopyValue({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  // Serialised only when it is copied, because that takes longer than drawing a long value.
  const text = (): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
  return (
    <CopyButton text={text} label={label}>
      Copy
    </CopyButton>
  );
}

function Part({ value, depth }: { readonly value: unknown; readonly depth: number }): JSX.Element {
  if (typeof value === "string") return <Text text={value} />;
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return <span>{JSON.stringify(value)}</span>;
  const cut = cutValue(value);
  if (cut) return <Cut {...cut} />;
  return <Members value={value} depth={depth} />;
}

function Text({ text }: { readonly text: string }): JSX.Element {
  const [pages, setPages] = useState(1);
  const shown = beginning(text, pages * CHARACTERS);
  const left = text.length - shown.length;
  return (
    <span className="value-text">
      {shown}
      {left > 0 && (
        <>
          …{" "}
          <button type="button" className="button button-small" onClick={() => setPages(pages + 1)}>
            Show more ({text.length.toLocaleString()} characters in total)
          </button>
        </>
      )}
    </span>
  );
}

function Members({ value, depth }: { readonly value: object; readonly depth: number }): JSX.Element {
  const [open, setOpen] = useState(depth < OPEN_DEPTH);
  const [pages, setPages] = useState(1);
  const isList = Array.isArray(value);
  const keys = isList ? null : Object.keys(value);
  const count = keys?.length ?? (value as unknown[]).length;
  if (count === 0) return <span>{isList ? "[]" : "{}"}</span>;
  const shown = Math.min(count, pages * MEMBERS);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {isList ? "List" : "Object"}{" "}
        <span className="muted">
          ({count.toLocaleString()} {isList ? (count === 1 ? "item" : "items") : count === 1 ? "field" : "fields"})
        </span>
      </summary>
      {open && (
        <ul>
          {Array.from({ length: shown }, (_, index) => {
            const key = keys?.[index] ?? index;
            return (
              <li key={key}>
                <span className="value-key">{key}</span>:{" "}
                <Part value={(value as Record<string | number, unknown>)[key]} depth={depth + 1} />
              </li>
            );
          })}
          {shown < count && (
            <li>
              <button type="button" className="button button-small" onClick={() => setPages(pages + 1)}>
                Show more ({count.toLocaleString()} in total)
              </button>
            </li>
          )}
        </ul>
      )}
    </details>
  );
}

/** Whether the API has truncated a value, so that the console does not know all of it. */
export const isCut = (value: unknown): value is { readonly size: number } =>
  typeof value === "object" && value !== null && "$truncated" in value;

/** The marker that the API puts in place of a value that is too long. */
function cutValue(value: object): { size: number; preview: string } | null {
  if (!("$truncated" in value)) return null;
  const { size = 0, preview = "" } = value as { size?: number; preview?: string };
  return { size, preview };
}

function Cut({ size, preview }: { readonly size: number; readonly preview: string }): JSX.Element {
  return (
    <span className="value-text">
      {preview}… <span className="muted">(first part of {Math.ceil(size / 1000).toLocaleString()} kB)</span>
    </span>
  );
}
