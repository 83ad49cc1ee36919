import { useState, type JSX } from "react";
import { toProblem } from "../../api/problem.ts";
import { replayEvents, useWebhookChange } from "../../api/webhooks.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Failure, Notice } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { Submit } from "../../parts/submit.tsx";

const AGES = [
  ["PT1H", "Last hour"],
  ["P1D", "Last day"],
  ["P7D", "Last 7 days"],
] as const;

/** Sends the events of a period again; by default only the ones that were not delivered. */
export function Replay({
  subscriptionId,
  onClose,
}: {
  readonly subscriptionId: string;
  readonly onClose: () => void;
}): JSX.Element {
  const [age, setAge] = useState<string>("P1D");
  const replay = useWebhookChange(replayEvents);
  const problem = replay.error && toProblem(replay.error);
  if (replay.data) return <Started replay={replay.data} onClose={onClose} />;
  return (
    <Dialog title="Replay" onClose={onClose}>
      <form
        className="stack"
        onSubmit={onTexts((given) => {
          const until = given("until");
          replay.mutate({
            subscription_id: subscriptionId,
            since: age === "" ? new Date(given("since")).toISOString() : age,
            ...(until !== "" && { until: new Date(until).toISOString() }),
            only_failed: given("which") === "failed",
          });
        })}
      >
        <p>Sends past events again with their original IDs, so a receiver can skip events it has already processed.</p>
        <Field label="Events">
          {(control) => (
            <select className="input" name="which" {...control}>
              <option value="failed">Undelivered only</option>
              <option value="all">All</option>
            </select>
          )}
        </Field>
        <Field label="Period" errors={age === "" ? [] : errorsAt(problem, "since")}>
          {(control) => (
            <select className="input" value={age} onChange={(event) => setAge(event.target.value)} {...control}>
              {AGES.map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
              <option value="">Custom range</option>
            </select>
          )}
        </Field>
        {age === "" && (
          <>
            <Field label="From" errors={errorsAt(problem, "since")}>
              {(control) => <input className="input" type="datetime-local" name="since" required {...control} />}
            </Field>
            <Field label="To (optional)" errors={errorsAt(problem, "until")}>
              {(control) => <input className="input" type="datetime-local" name="until" {...control} />}
            </Field>
          </>
        )}
        {problem && problem.issues.length === 0 && <Failure fault={problem} />}
        <Submit isPending={replay.isPending}>Replay</Submit>
      </form>
    </Dialog>
  );
}

function Started({
  replay,
  onClose,
}: {
  readonly replay: Awaited<ReturnType<typeof replayEvents>>;
  readonly onClose: () => void;
}): JSX.Element {
  return (
    <Dialog title="Replay" onClose={onClose}>
      <Notice tone="good">
        <span>
          Replay started: {replay.only_failed ? "undelivered events" : "all events"} from <Time at={replay.since} /> to{" "}
          <Time at={replay.until} />. The deliveries appear in the list.
        </span>
      </Notice>
      <div className="row">
        <button type="button" className="button" data-first onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
