import { z } from "zod";
import { anyObject } from "../json-schema.ts";
import type { Json, JsonObject } from "../json.ts";

/** Every event type that webhooks deliver. The list is closed: a new event type needs an entry here. */
export const EVENT_TYPES = [
  "run.started",
  "run.completed",
  "run.failed",
  "run.cancelled",
  "run.paused",
  "run.resumed",
  "knowledge_base.sync.completed",
  "knowledge_base.sync.failed",
  "knowledge_base.resource.indexed",
  "knowledge_base.resource.failed",
  "evals.experiment.completed",
  "evals.experiment.failed",
  "evals.monitor.alert.triggered",
  "evals.monitor.alert.resolved",
  "connection.error",
  "skill.version.created",
  "webhook.subscription.disabled",
  "quota.warning",
  "quota.reached",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The default event type of a test delivery. No pattern matches it, so no other webhook receives it. */
export const TEST_EVENT_TYPE = "webhook.test";

/** An event to be written, of a known type. */
export interface NewEvent {
  readonly event_id: string;
  readonly type: EventType | typeof TEST_EVENT_TYPE;
  readonly project_id?: string | null;
  readonly data: JsonObject;
}

/** The version of the envelope and of the events' data. */
const EVENT_API_VERSION = "v2";

/** Longer data (bytes of JSON) is not sent; the event refers to it instead. */
export const MAX_EVENT_DATA_BYTES = 20_000;

/** In stored data, replaces fields that were too long; its value is the length (bytes) of the whole data. */
export const OVERSIZE = "$oversize";

/** An event as stored in the outbox. */
export interface DomainEvent {
  readonly event_id: string;
  readonly org_id: string;
  readonly type: string;
  readonly project_id: string | null;
  readonly data: JsonObject;
  readonly occurred_at: string;
}

/** The payload that is sent. */
export const eventEnvelopeSchema = z
  .object({
    id: z.string(),
    type: z.string(),
    timestamp: z.iso.datetime(),
    api_version: z.string(),
    org_id: z.uuid(),
    data: anyObject,
  })
  .meta({ id: "WebhookEvent" });
export type EventEnvelope = z.output<typeof eventEnvelopeSchema>;

/** The event's public ID, which is also the `webhook-id` of every delivery attempt. */
export function publicEventId(eventId: string): string {
  return `evt_${eventId}`;
}

/** The event types that a pattern matches: a type, `prefix.*`, or `*`. Empty for any other pattern. */
export function typesOfPattern(pattern: string): EventType[] {
  if (pattern === "*") return [...EVENT_TYPES];
  if (!pattern.endsWith(".*")) return EVENT_TYPES.filter((type) => type === pattern);
  const prefix = pattern.slice(0, -1);
  return EVENT_TYPES.filter((type) => type.startsWith(prefix));
}

export interface EventSelection {
  readonly events: readonly string[];
  /** Null means events of every project, and events without a project. */
  readonly project_ids: readonly string[] | null;
}

export function selects(selection: EventSelection, event: Pick<DomainEvent, "type" | "project_id">): boolean {
  const { events, project_ids } = selection;
  if (!events.some((pattern) => typesOfPattern(pattern).some((type) => type === event.type))) return false;
  return project_ids === null || (event.project_id !== null && project_ids.includes(event.project_id));
}

/** Builds the payload of an event, which is always the same for the same event. `baseUrl` makes references absolute. */
export function eventEnvelope(event: DomainEvent, baseUrl = ""): EventEnvelope {
  return {
    id: publicEventId(event.event_id),
    type: event.type,
    timestamp: event.occurred_at,
    api_version: EVENT_API_VERSION,
    org_id: event.org_id,
    data: fitting(event, baseUrl),
  };
}

function fitting({ type, data }: DomainEvent, baseUrl: string): JsonObject {
  const { [OVERSIZE]: noted, ...rest } = data;
  const size = typeof noted === "number" ? noted : bytes(rest);
  // Fields that were omitted from stored data always need a reference, whatever the length of the rest.
  if (typeof noted !== "number" && size <= MAX_EVENT_DATA_BYTES) return rest;
  const short = Object.entries(rest).filter(([, value]) => isShort(value));
  const path = pathOf(type, data);
  return {
    ...Object.fromEntries(short),
    reference: { href: path === null ? null : `${baseUrl}${path}`, size_bytes: size },
  };
}

/** Keeps IDs, states and codes, with which the receiver can fetch the rest. */
function isShort(value: Json): boolean {
  return value === null || typeof value !== "object" ? bytes(value) <= 300 : false;
}

function bytes(value: Json): number {
  return new TextEncoder().encode(JSON.stringify(value)).byteLength;
}

/** The API path at which the subject of an event can be read completely, by the beginning of the event's type. */
const PATHS: ReadonlyArray<readonly [begins: string, path: string]> = [
  ["run.", "/v2/runs/{run_id}"],
  ["knowledge_base.sync.", "/v2/knowledge-bases/{knowledge_base_id}/syncs/{sync_id}"],
  ["knowledge_base.resource.", "/v2/knowledge-bases/{knowledge_base_id}/resources/{resource_id}"],
  ["evals.experiment.", "/v2/evals/experiments/{experiment_id}"],
  ["evals.monitor.", "/v2/evals/monitors/{monitor_id}"],
  ["webhook.subscription.", "/v2/webhooks/subscriptions/{subscription_id}"],
  ["connection.", "/v2/connections/{connection_id}"],
  ["quota.", "/v2/quotas"],
  ["skill.", "/v2/skills/{skill_id}"],
];

/** Null for an event without a subject, or whose data does not name it. */
function pathOf(type: string, data: JsonObject): string | null {
  const path = PATHS.find(([begins]) => type.startsWith(begins))?.[1].replaceAll(
    /\{(\w+)\}/g,
    (place, name: string) => {
      const id = data[name];
      return typeof id === "string" ? encodeURIComponent(id) : place;
    },
  );
  return path?.includes("{") === false ? path : null;
}
