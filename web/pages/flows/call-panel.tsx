import { useId, useRef, useState, type JSX } from "react";
import { Link } from "react-router";
import { useMay, useMe } from "../../api/accounts.ts";
import { links } from "../../links.ts";
import { SchemaForm } from "../../parts/schema-form/schema-form.tsx";
import { completed, setAt } from "../../parts/schema-form/data.ts";
import { unreadable } from "../../parts/schema-form/controls.tsx";
import { AnswerView } from "../../parts/snippets/answer-view.tsx";
import { CodeView } from "../../parts/snippets/code-view.tsx";
import { WAYS, flowCode, type FlowCall, type Way } from "../../../src/domain/flow/io/call-code.ts";
import { Notice } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { callSchema, errorsIn, startingInputs, uploadInputs, type FlowIo } from "./call-form.ts";
import { KeyField } from "./call-key.tsx";
import { FileFields } from "./call-files.tsx";
import { requestsOf, runIn } from "./call-requests.ts";
import { useSend } from "./use-send.ts";

const NAMES: Readonly<Record<Way, string>> = { sync: "Wait for outputs", stream: "Stream", async: "Run in background" };

/** The inputs of a call beside the code that makes it. */
export function CallPanel({
  io,
  version,
  environment,
  way,
  onWay,
  apiKey,
  onKey,
}: {
  readonly io: FlowIo;
  readonly version: number | null;
  readonly environment: string | null;
  readonly way: Way;
  readonly onWay: (way: Way) => void;
  readonly apiKey: string;
  readonly onKey: (key: string) => void;
}): JSX.Element {
  const me = useMe();
  const mayRun = useMay("editor", io.project_id);
  const form = useRef<HTMLFormElement>(null);
  const formId = useId();
  const [example, setExample] = useState(0);
  const [inputs, setInputs] = useState<unknown>(() => startingInputs(io, 0));
  const [files, setFiles] = useState<Readonly<Record<string, File>>>({});
  const { answer, problem, isPending, send, stop } = useSend();
  const schema = callSchema(io);
  const uploads = uploadInputs(io);
  const call: FlowCall = {
    base: location.origin,
    org_id: me.organisation.org_id,
    project_id: io.project_id,
    version,
    environment,
    way,
    inputs: completed(schema, inputs) as FlowCall["inputs"],
    uploads: uploads.map(({ node_id }) => ({ node_id, file: files[node_id]?.name ?? "report.pdf" })),
  };
  const key = apiKey.trim();
  // A session may upload files and start runs; only keys may stream.
  const needsKey = key === "" && way === "stream";
  const isClosed = needsKey || (key === "" && !mayRun);
  const runId = runIn(answer);

  return (
    <div className="call">
      <form
        ref={form}
        id={formId}
        className="panel stack"
        aria-label="Inputs"
        onSubmit={(event) => {
          event.preventDefault();
          const wrong = form.current && unreadable(form.current);
          if (wrong) wrong.focus();
          else if (!isClosed) send(requestsOf(call, key, files));
        }}
      >
        <div className="spread">
          <h2>Inputs</h2>
          {io.examples.length > 0 && (
            <select
              className="input input-short"
              aria-label="Example"
              value={example}
              onChange={({ target }) => {
                setExample(Number(target.value));
                setInputs(startingInputs(io, Number(target.value)));
              }}
            >
              {io.examples.map(({ name }, at) => (
                <option key={at} value={at}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </div>
        <FileFields uploads={uploads} onChange={(id, file) => setFiles((known) => withFile(known, id, file))} />
        {Object.keys(schema.properties ?? {}).length === 0 ? (
          <p className="muted">This flow has no inputs.</p>
        ) : (
          // Controls hold text of their own, which another example replaces.
          <SchemaForm
            key={example}
            schema={schema}
            value={inputs}
            onChange={(path, next) => setInputs((known: unknown) => setAt(known, path, next))}
            errors={errorsIn(answer)}
          />
        )}
      </form>
      <section className="stack" aria-label="Code">
        <Tabs
          label="Outputs"
          tabs={WAYS}
          chosen={way}
          link={(each, current) => (
            <button type="button" aria-current={current} onClick={() => onWay(each)}>
              {NAMES[each]}
            </button>
          )}
        />
        <CodeView code={(language) => flowCode(language, call)} />
        <p className="small muted">
          The code reads the key from <code>MILLRACE_API_KEY</code> and needs nothing but curl, Python 3 or Node.js 20.
        </p>
        <KeyField projectId={io.project_id} value={apiKey} onChange={onKey} />
        <div className="row">
          <button type="submit" form={formId} className="button button-primary" disabled={isPending || isClosed}>
            Send
          </button>
          {isPending && (
            <button type="button" className="button" onClick={stop}>
              Stop
            </button>
          )}
          <span className="small muted">
            {hintOf({ hasKey: key !== "", needsKey, mayRun, uploads: uploads.length > 0 })}
          </span>
        </div>
        {problem !== null && <Notice tone="bad">{problem}</Notice>}
        {answer && <AnswerView answer={answer} />}
        {runId !== null && <Link to={links.run(runId)}>Open the run</Link>}
      </section>
    </div>
  );
}

/** What "Send" does, or what it needs. */
function hintOf(call: {
  readonly hasKey: boolean;
  readonly needsKey: boolean;
  readonly mayRun: boolean;
  readonly uploads: boolean;
}): string {
  if (call.hasKey) return "Sends this call with the key. It starts a real run.";
  if (call.needsKey) return "Streaming needs a key.";
  if (!call.mayRun) return "Your role may not start runs. Enter a key to send the call.";
  return call.uploads
    ? "Without a key, your session uploads the files and starts the run."
    : "Without a key, your session starts the run.";
}

function withFile(
  files: Readonly<Record<string, File>>,
  id: string,
  file: File | null,
): Readonly<Record<string, File>> {
  const { [id]: _, ...others } = files;
  return file === null ? others : { ...others, [id]: file };
}
