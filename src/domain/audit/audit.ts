import { isDeepStrictEqual } from "node:util";
import type { Json, JsonObject } from "../json.ts";
import { isUuid } from "../uuid.ts";

export const ACTOR_TYPES = ["user", "org_api_key", "system", "cli", "page"] as const;
export type ActorType = (typeof ACTOR_TYPES)[number];

export const AUDIT_OUTCOMES = ["success", "failure"] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

/** Who acts, and from where. */
export interface AuditActor {
  readonly org_id: string;
  readonly actor_type: ActorType;
  /** ID of the user or key; null if unknown. */
  readonly actor_id: string | null;
  readonly session_id: string | null;
  readonly address: string | null;
  readonly user_agent: string | null;
  readonly request_id: string | null;
}

/** The request to record, for a process that carries out the operation in place of the process that received the request. */
export interface AuditedRequest {
  readonly actor: AuditActor;
  readonly operation: string;
  /** ID of the audit entry, so that a retry after a lost response does not write a second one. Older processes omit it. */
  readonly entry_id?: string;
}

/** What is acted on, such as `project` and its id. */
export interface AuditTarget {
  readonly type: string;
  readonly id: string;
}

/** The ID as entries store it: UUIDs in lower case, whatever the case in the URL. */
export function storedTarget(id: string): string {
  return isUuid(id) ? id.toLowerCase() : id;
}

/** A field before and after a change. Without `before` it was added, without `after` it was removed. */
export interface FieldChange {
  readonly before?: Json;
  readonly after?: Json;
}
export type FieldChanges = Readonly<Record<string, FieldChange>>;

/** Longest JSON text (characters) of a value that is kept whole. */
const VALUE_CHARS = 1024;
/** Fields that change with every write, so they carry no information. */
const OWN_TIMES: readonly string[] = ["updated_at", "modified_at"];

/**
 * The fields that differ between two views of a resource. A view is what the API shows, without secrets; null means that the resource does
 * not exist.
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

/** A long value is replaced by the beginning of its JSON text. */
function cut(value: Json): Json {
  const text = JSON.stringify(value);
  return text.length <= VALUE_CHARS ? value : `${text.slice(0, VALUE_CHARS)}…`;
}
