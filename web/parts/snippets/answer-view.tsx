import { useMemo, useState, type JSX } from "react";
import { beginning } from "../../../src/domain/marks.ts";
import { CopyButton } from "../copy.tsx";
import { saveAs } from "../save-as.ts";
import "./snippets.css";

/** A response as it arrives. */
interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>;
  readonly type: string;
  /** The body as text; null if the bytes are not text. */
  readonly text: string | null;
  readonly bytes: number;
  /** Milliseconds until the headers had arrived, and until the whole body had. */
  readonly headMs: number;
  readonly totalMs: number | null;
  readonly content: Blob | null;
}

/** Characters of a long response that are drawn at one time. */
const CHARACTERS = 20_000;

/** The response to a request: status, time, headers, and the text received so far. */
export function AnswerView({ answer }: { readonly answer: Answer }): JSX.Element {
  const { status, statusText, totalMs, headMs, bytes, headers, content } = answer;
  return (
    <section className="stack-tight" aria-label="Response" aria-live="polite">
      <p className="row">
        <strong className={status >= 200 && status < 400 ? "answer-good" : "answer-bad"}>
          {status === 0 ? statusText : `${status} ${statusText}`}
        </strong>
        <span className="muted">
          {totalMs === null ? `Streaming, first byte after ${Math.round(headMs)} ms` : `${Math.round(totalMs)} ms`}
          {" · "}
          {bytes.toLocaleString()} bytes
        </span>
      </p>
      <details>
        <summary>Headers ({headers.length})</summary>
        <dl className="answer-headers">
          {headers.map(([name, value]) => (
            <div key={name}>
              <dt>
                <code>{name}</code>
              </dt>
              <dd className="wrap">{value}</dd>
            </div>
          ))}
        </dl>
      </details>
      <AnswerText answer={answer} />
      {content !== null && (
        <div className="row">
          <button type="button" className="button button-small" onClick={() => saveAs("response", content)}>
            Save response
          </button>
        </div>
      )}
    </section>
  );
}

function AnswerText({ answer: { text, type, totalMs } }: { readonly answer: Answer }): JSX.Element | null {
  const [pages, setPages] = useState(1);
  const pretty = useMemo(
    () => (text !== null && totalMs !== null && type.includes("json") ? prettyJson(text) : text),
    [text, totalMs, type],
  );
  if (pretty === null || pretty === "") return null;
  const shown = beginning(pretty, pages * CHARACTERS);
  return (
    <>
      <pre className="code-text answer-text" tabIndex={0} role="region" aria-label="Response body">
        {shown}
      </pre>
      <div className="row">
        {shown.length < pretty.length && (
          <button type="button" className="button button-small" onClick={() => setPages(pages + 1)}>
            Show more ({pretty.length.toLocaleString()} characters in total)
          </button>
        )}
        <CopyButton text={pretty} label="response">
          Copy
        </CopyButton>
      </div>
    </>
  );
}

/** Formats a single JSON value; JSON Lines (streams) and other text stay as they are. */
function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
