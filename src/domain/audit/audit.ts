import { isDeepStrictEqual } from "node:util";
import type { Json, JsonObject } from "../json.ts";

export const ACTOR_TYPES = ["user", "org_api_key", "system", "cli"] as const;
export type ActorType = (typeof ACTOR_TYPES)[number];

export const AUDIT_OUTCOMES = ["success", "failure"] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

/** Who acts, and from where. */
export interface AuditActor {
  readonly org_id: string;
  readonly actor_type: ActorType;
  /** Of the user or the key; null where nobody is known. */
  readonly actor_id: string | null;
  readonly session_id: string | null;
  readonly address: string | null;
  readonly user_agent: string | null;
  readonly request_id: string | null;
}

/** Who has asked for which operation, for a process that does it, and records it, in place of the one that was asked. */
export interface AuditedRequest {
  readonly actor: AuditActor;
  readonly operation: string;
  /** Of the entry, so that who does it again, as its answer was lost, writes no second one. Processes of before gave none. */
  readonly entry_id?: string;
}

/** What is acted on, such as `project` and its id. */
export interface AuditTarget {
  readonly type: string;
  readonly id: string;
}

/** A field before and after; without `before` it was new, without `after` it is gone. */
export interface FieldChange {
  readonly before?: Json;
  readonly after?: Json;
}
export type FieldChanges = Readonly<Record<string, FieldChange>>;

/** Longest JSON text (characters) of a value that is kept whole. */
const VALUE_CHARS = 1024;
/** Change with every write, and say nothing of it. */
const OWN_TIMES: readonly string[] = ["updated_at", "modified_at"];

/**
 * What differs between two views of a resource, by field. A view is what the API shows, without any secret. Null stands for a resource
 * that is not there.
 */
export function changesBetween(before: JsonObject | null, after: JsonObject | null): FieldChanges {
  const [was, is] = [before ?? {}, after ?? {}];
  const fields = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((field) => !OWN_TIMES.includes(field));
  return Object.fromEntries(
    fields
      .filter((field) => !isDeepStrictEqual(was[field], is[field]))
      .map((field) => [field, { ...side("before", was[field]), ...side("after", is[field]) }]),
  );
}

function side(name: "before" | "after", value: Json | undefined): FieldChange {
  return value === undefined ? {} : { [name]: cut(value) };
}

/** A long value as the beginning of its JSON text. */
function cut(value: Json): Json {
  const text = JSON.stringify(value);
  return text.length <= VALUE_CHARS ? value : `${text.slice(0, VALUE_CHARS)}…`;
}
