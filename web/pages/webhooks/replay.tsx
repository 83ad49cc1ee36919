import { useState } from "react";
import type { JSX } from "react";
import { toProblem } from "../../api/problem.ts";
import { replayEvents, useWebhookChange } from "../../api/webhooks.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Failure, Notice } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { Submit } from "../../parts/submit.tsx";

const AGES = [
  ["PT1H", "The last hour"],
  ["P1D", "The last day"],
  ["P7D", "The last 7 days"],
] as const;

/** Sends what a stretch of time brought once more; of its own accord only what did not arrive. */
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
        <p>Events are sent once more under their own ids: a receiver that has had one already can skip it.</p>
        <Field label="Which">
          {(control) => (
            <select className="input" name="which" {...control}>
              <option value="failed">What was not delivered</option>
              <option value="all">All of them</option>
            </select>
          )}
        </Field>
        <Field label="Of" errors={age === "" ? [] : errorsAt(problem, "since")}>
          {(control) => (
            <select className="input" value={age} onChange={(event) => setAge(event.target.value)} {...control}>
              {AGES.map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
              <option value="">From one time to another</option>
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
          The replay of {replay.only_failed ? "what was not delivered" : "all events"} from <Time at={replay.since} />{" "}
          to <Time at={replay.until} /> has started. Its deliveries are in the list.
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
