import { isWithin, reachOf } from "../../domain/accounts/kept-rights.ts";
import { digestId } from "../../domain/derived-id.ts";
import type { JsonObject } from "../../domain/json.ts";
import { MAX_TRIGGER_DEPTH } from "../../domain/triggers/trigger.ts";
import { OVERSIZE, type DomainEvent, type EventType } from "../../domain/webhooks/events.ts";
import type { Db } from "../../stores/db.ts";
import { depthsOf, queueFirings } from "../../stores/triggers/firings.ts";
import { noteTriggerError, runEventTriggers, type RunEventTrigger } from "../../stores/triggers/triggers.ts";

const ENDS: readonly string[] = ["run.completed", "run.failed", "run.cancelled"] satisfies EventType[];
const TOO_DEEP = `Not started: more than ${MAX_TRIGGER_DEPTH} nested runs. Check whether a trigger fires for the runs that it starts.`;
/** Types of runs that fire no triggers, because they are parts of something else or trials. */
const PARTS: readonly unknown[] = ["sub_workflow", "batch", "draft"];

/**
 * Records which triggers fire for the ends of these runs, in the transaction that relays the events. Returns whether
 * any trigger fires. For connections of the system only.
 */
export async function queueRunEvents(db: Db, events: readonly DomainEvent[]): Promise<boolean> {
  const ends = events.filter(({ type, data }) => ENDS.includes(type) && !PARTS.includes(data["run_type"]));
  if (ends.length === 0) return false;
  const triggers = await runEventTriggers(db, [...new Set(ends.map(({ org_id }) => org_id))]);
  const matches = ends.flatMap((event) =>
    triggers.filter((trigger) => isFor(trigger, event)).map((trigger) => ({ trigger, event })),
  );
  if (matches.length === 0) return false;
  const depths = await depthsOf(db, [...new Set(matches.map(({ event }) => runOf(event)))]);
  const firings = matches.map(({ trigger, event }) => ({
    run_id: digestId(event.event_id, `${trigger.id} ${event.event_id}`),
    org_id: event.org_id,
    trigger_id: trigger.id,
    key: event.event_id,
    depth: (depths.get(runOf(event)) ?? 0) + 1,
    payload: payloadOf(event),
  }));
  const isTooDeep = ({ depth }: (typeof firings)[number]): boolean => depth > MAX_TRIGGER_DEPTH;
  const queued = firings.map((firing) => (isTooDeep(firing) ? { ...firing, error: TOO_DEEP } : firing));
  await queueFirings(db, queued);
  for (const id of new Set(firings.filter(isTooDeep).map((each) => each.trigger_id)))
    await noteTriggerError(db, id, TOO_DEEP);
  return !firings.every(isTooDeep);
}

function isFor(trigger: RunEventTrigger, event: DomainEvent): boolean {
  const { project_id, states } = trigger.config;
  return (
    trigger.org_id === event.org_id &&
    // A trigger fires only for runs that finished after it was created.
    trigger.created_at <= event.occurred_at &&
    (project_id === null || project_id === event.project_id) &&
    isWithin(reachOf(trigger, trigger.project_id, "viewer"), event.project_id ?? "") &&
    states.some((state) => `run.${state.toLowerCase()}` === event.type)
  );
}

function runOf({ data }: DomainEvent): string {
  return typeof data["run_id"] === "string" ? data["run_id"] : "";
}

/** The members of an event that flows get, null if the event has none. */
const MEMBERS = ["run_id", "project_id", "flow_version", "run_type", "environment", "state", "error"];

function payloadOf({ data }: DomainEvent): JsonObject {
  // Long outputs are not in the event; they are loaded from the record when the triggered run starts.
  const outputs = OVERSIZE in data ? {} : { outputs: data["outputs"] ?? {} };
  return { ...Object.fromEntries(MEMBERS.map((name) => [name, data[name] ?? null])), ...outputs };
}
