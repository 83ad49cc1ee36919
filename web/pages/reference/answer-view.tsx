import { useMemo, useState } from "react";
import type { JSX } from "react";
import type { RawAnswer } from "../../api/raw-request.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { saveAs } from "../../parts/save-as.ts";

/** As much of a long answer as is drawn at once. */
const CHARACTERS = 20_000;

/** The answer to a request: status, time, headers, and its text as far as it has come. */
export function AnswerView({ answer }: { readonly answer: RawAnswer }): JSX.Element {
  const { status, statusText, totalMs, headMs, bytes, headers, content } = answer;
  return (
    <section className="stack-tight" aria-label="Answer" aria-live="polite">
      <p className="row">
        <strong className={status >= 200 && status < 400 ? "reference-good" : "reference-bad"}>
          {status === 0 ? statusText : `${status} ${statusText}`}
        </strong>
        <span className="muted">
          {totalMs === null ? `Still coming, first after ${Math.round(headMs)} ms` : `${Math.round(totalMs)} ms`}
          {" · "}
          {bytes.toLocaleString()} bytes
        </span>
      </p>
      <details>
        <summary>Headers ({headers.length})</summary>
        <dl className="reference-headers">
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
          <button type="button" className="button button-small" onClick={() => saveAs("answer", content)}>
            Save the answer as a file
          </button>
        </div>
      )}
    </section>
  );
}

function AnswerText({ answer: { text, type, totalMs } }: { readonly answer: RawAnswer }): JSX.Element | null {
  const [pages, setPages] = useState(1);
  const pretty = useMemo(
    () => (text !== null && totalMs !== null && type.includes("json") ? prettyJson(text) : text),
    [text, totalMs, type],
  );
  if (pretty === null || pretty === "") return null;
  const shown = pretty.slice(0, pages * CHARACTERS);
  return (
    <>
      <pre className="reference-code reference-answer" tabIndex={0} role="region" aria-label="Body of the answer">
        {shown}
      </pre>
      <div className="row">
        {shown.length < pretty.length && (
          <button type="button" className="button button-small" onClick={() => setPages(pages + 1)}>
            Show more of {pretty.length.toLocaleString()} characters
          </button>
        )}
        <CopyButton text={pretty} label="answer">
          Copy
        </CopyButton>
      </div>
    </>
  );
}

/** Lines of JSON (streams) and what is no JSON at all stay as they are. */
function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
