import { useEffect, useRef, useState, type JSX } from "react";
import { useSearchParams } from "react-router";
import { useMay } from "../../../api/accounts.ts";
import { ApiProblem, toProblem } from "../../../api/problem.ts";
import { startTry, type TryRequest } from "../../../api/tries.ts";
import { nodeAt, pathOf } from "../../../flow/access.ts";
import { Field } from "../../../parts/field.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { Loading } from "../../../parts/states.tsx";
import { useEditor } from "../editor-context.ts";
import { Examples } from "./examples.tsx";
import { InputForm } from "./input-form.tsx";
import { rememberInputs, rememberedInputs, type Entered } from "./kept-inputs.ts";
import { PastRun } from "./past-run.tsx";
import { Pins } from "./pins.tsx";
import { refusalOf, tryRequest, type Part, type Refusal } from "./request.ts";
import { Refused } from "./refused.tsx";
import { Results } from "./results.tsx";
import { sessionOf, useTries } from "./session.ts";
import { useInputFields } from "./use-input-fields.ts";
import "./try.css";

const WHOLE: Part = { until: null, isAlone: false };

/** Runs the draft, the whole of it or up to the selected node, and shows what came of it. */
export function TryPanel(): JSX.Element {
  const { projectId, state, pins, setValues, saveNow } = useEditor();
  const { document, scope, selection } = state;
  const session = sessionOf(setValues);
  const { current } = useTries(session);
  const may = useMay("editor", projectId);
  const fields = useInputFields();
  const [entered, setEntered] = useState<Entered>(() => session.entered() ?? rememberedInputs(projectId));
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const [starting, setStarting] = useState<Part | null>(null);
  const [search] = useSearchParams();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    session.keepEntered(entered);
    rememberInputs(projectId, entered);
  }, [session, projectId, entered]);
  useEffect(() => {
    // The first field that was refused, which may be far above the button.
    if (refusal) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [refusal]);

  const [chosen] = selection.nodes.length === 1 ? selection.nodes : [];
  const node = chosen === undefined ? undefined : nodeAt(document, scope, chosen);
  const until = node === undefined ? null : pathOf(scope, node.id);
  const isRunning = current?.run != null && current.run.finished_at === null && !current.isPast;

  const run = async (part: Part): Promise<void> => {
    setStarting(part);
    setRefusal(null);
    let sent: TryRequest | null = null;
    try {
      if (!(await saveNow(true)))
        throw new ApiProblem(0, "draft_not_saved", "The draft could not be saved, so it was not run.", null);
      sent = await tryRequest(part, { projectId, document, fields: fields.data ?? [], entered, pins, session });
      const { run_id } = await startTry(sent);
      session.begin(run_id, part.until);
    } catch (error) {
      setRefusal(refusalOf(toProblem(error), sent));
    }
    setStarting(null);
  };

  if (!may) return <p className="muted">Your role can view this flow but not run its draft.</p>;
  const pastRun = search.get("values");
  return (
    <div className="stack try">
      {pastRun !== null && (
        <PastRun runId={pastRun} onInputs={(inputs) => setEntered((known) => ({ ...known, ...inputs }))} />
      )}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a key for all fields of the form */}
      <form
        ref={form}
        className="stack"
        noValidate
        aria-label="Inputs"
        onSubmit={(event) => {
          event.preventDefault();
          void run(WHOLE);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void run(WHOLE);
        }}
      >
        <Examples entered={entered} onChoose={(inputs) => setEntered(({ userId }) => ({ userId, inputs }))} />
        {fields.data === null ? (
          <Loading what="the inputs" rows={2} />
        ) : fields.data.length === 0 ? (
          <p className="muted small">This flow has no inputs.</p>
        ) : (
          <InputForm
            fields={fields.data}
            entered={entered}
            errors={refusal?.inputs ?? NO_ERRORS}
            onChange={setEntered}
            beforeUpload={() => saveNow(true)}
          />
        )}
        <UserId entered={entered} onChange={setEntered} />
        <Pins />
        {refusal && <Refused refusal={refusal} />}
        <div className="row">
          <button type="submit" className="button button-primary" disabled={starting !== null || isRunning}>
            <Icon name="runs" /> {starting === WHOLE ? "Starting…" : "Run draft"}
          </button>
          {until !== null && <PartButtons until={until} isDisabled={starting !== null || isRunning} onRun={run} />}
        </div>
      </form>
      <Results entered={entered} />
    </div>
  );
}

const NO_ERRORS: ReadonlyMap<string, readonly string[]> = new Map();

/** Runs up to the selected node, or this node alone. */
function PartButtons({
  until,
  isDisabled,
  onRun,
}: {
  readonly until: string;
  readonly isDisabled: boolean;
  readonly onRun: (part: Part) => Promise<void>;
}): JSX.Element {
  const name = until.split("/").at(-1) ?? until;
  const around = until.includes("/") ? (until.split("/", 1)[0] ?? "") : null;
  return (
    <>
      <button
        type="button"
        className="button"
        disabled={isDisabled}
        onClick={() => void onRun({ until, isAlone: false })}
      >
        Run until {name}
      </button>
      <button
        type="button"
        className="button"
        disabled={isDisabled}
        onClick={() => void onRun({ until, isAlone: true })}
      >
        Run only {around ?? name}
      </button>
      {around !== null && (
        <span className="small muted">
          {name} is inside {around}, which runs with all its iterations.
        </span>
      )}
    </>
  );
}

function UserId({
  entered,
  onChange,
}: {
  readonly entered: Entered;
  readonly onChange: (change: (before: Entered) => Entered) => void;
}): JSX.Element {
  return (
    <details className="try-more" open={entered.userId !== "" ? true : undefined}>
      <summary className="small">User ID</summary>
      <Field label="User ID (optional)" hint="Conversations and documents belong to it.">
        {(control) => (
          <input
            className="input"
            maxLength={256}
            value={entered.userId}
            onChange={(event) => onChange((before) => ({ ...before, userId: event.target.value }))}
            {...control}
          />
        )}
      </Field>
    </details>
  );
}
