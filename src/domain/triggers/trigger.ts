import { z } from "zod";
import { listUpTo, wholeNumber } from "../schema-parts.ts";
import { objectSchema } from "../json-schema.ts";
import type { JsonObject } from "../json.ts";
import type { Trigger } from "../providers/action.ts";
import { TERMINAL_STATES } from "../runs/run.ts";
import { isWebhookSecret } from "../webhooks/webhook-signature.ts";
import { CRON_NAMES, cronFault, shownTimeZone, timeZoneOf } from "../cron.ts";
import { parseJsonPath } from "../json-path.ts";

export const TRIGGER_KINDS = ["webhook", "schedule", "poll", "run_event"] as const;
export type TriggerKind = (typeof TRIGGER_KINDS)[number];

/** Longest chain of runs that start each other by `run_event` triggers. */
export const MAX_TRIGGER_DEPTH = 8;

/** What to do if a schedule is due while its previous run is unfinished. */
const OVERLAPS = ["skip", "buffer_one", "buffer_all", "allow_all"] as const;
export const VERIFICATIONS = ["none", "standard_webhooks", "github", "stripe"] as const;
const HANDSHAKES = ["slack", "meta", "microsoft_graph"] as const;

const cronText = z
  .string()
  .max(200)
  .superRefine((text, context) => {
    const fault = cronFault(text);
    if (fault !== null) context.addIssue({ code: "custom", message: fault });
  });

const scheduleConfig = z.strictObject({
  cron: cronText.describe(
    `Cron expression: minute, hour, day of month, month, day of week; or six fields with the second first; or one of ${CRON_NAMES}. ` +
      "If both day of month and day of week are given, both must match: 0 9 13 * fri is every Friday the 13th.",
  ),
  time_zone: z
    .string()
    .max(100)
    .refine((text) => timeZoneOf(text) !== null, "must be a time zone such as Europe/Berlin")
    .overwrite(shownTimeZone)
    .default("UTC")
    .describe(
      "IANA time zone in upper or lower case; aliases are accepted. When clocks change, an expression that repeats within a day " +
        "(`*` in its second, minute or hour) fires whenever the clock shows one of its times. A fixed time fires once; a skipped time does not fire.",
    ),
  overlap: z
    .enum(OVERLAPS)
    .default("skip")
    .describe(
      "What to do if the previous run has not finished: `skip` the time, start one run (`buffer_one`) or all (`buffer_all`) later, or run in parallel (`allow_all`).",
    ),
  catchup_window_seconds: wholeNumber(10, 31_536_000)
    .default(3600)
    .describe("Times missed while Millrace was down are run later if they are at most this long ago."),
  jitter_seconds: wholeNumber(0, 3600).default(0).describe("Delays each start by a random time up to this."),
});

const webhookConfig = z
  .strictObject({
    verification: z.enum(VERIFICATIONS).default("none").describe("How the sender signs its requests."),
    secret: z
      .string()
      .min(8)
      .max(1000)
      .optional()
      .meta({ writeOnly: true, description: "Secret that the sender signs with. It is never returned." }),
    handshake: z
      .enum(HANDSHAKES)
      .optional()
      .describe(
        "How the sender verifies the URL before it sends events: `slack` (url_verification), `meta` (hub.challenge, whose " +
          "hub.verify_token is the secret), `microsoft_graph` (validationToken). The challenge is returned, and no run starts.",
      ),
  })
  .refine(
    ({ verification, secret }) =>
      verification !== "standard_webhooks" || secret === undefined || isWebhookSecret(secret),
    {
      path: ["secret"],
      message: "must be a Standard Webhooks secret: whsec_ and the base64 of 24 to 64 bytes",
    },
  );

const runEventConfig = z.strictObject({
  project_id: z
    .uuid()
    .toLowerCase()
    .nullable()
    .default(null)
    .describe("Project whose finished runs fire the trigger; `null` means any project."),
  states: listUpTo(3, z.enum(TERMINAL_STATES))
    .default(["COMPLETED"])
    .describe("States of the finished runs that fire the trigger."),
});

const httpChangedConfig = z.strictObject({
  url: z.url({ protocol: /^https?$/, error: "must be a URL that begins with http:// or https://" }).max(2000),
  every_minutes: wholeNumber(1, 1440).default(5),
  json_path: z
    .string()
    .max(500)
    .refine((text) => parseJsonPath(text) !== null, "must be a path such as $.items[0].id")
    .default("$")
    .describe("JSON path of the value to watch in the response; for a response other than JSON, `$` is the text."),
});

const newRowsConfig = z.strictObject({
  connection_id: z.uuid().toLowerCase().describe("ID of a connection of provider postgres."),
  table: z
    .string()
    .max(200)
    .regex(/^[^\s".]{1,63}(?:\.[^\s".]{1,63})?$/, "must be a table such as orders or shop.orders")
    .describe("Table or view, with its schema if that is not the default one."),
  column: z
    .string()
    .regex(/^[^\s".]{1,63}$/, "must be the name of a column")
    .default("id")
    .describe("Indexed column whose value only increases from row to row, such as a serial number or a creation time."),
  every_minutes: wholeNumber(1, 1440).default(5),
});

export type WebhookConfig = z.output<typeof webhookConfig>;
export type HttpChangedConfig = z.output<typeof httpChangedConfig>;
export type NewRowsConfig = z.output<typeof newRowsConfig>;

/** A trigger's type and stored configuration. Its secret is stored separately. */
export type TypedTrigger =
  | Typed<"schedule", "schedule", z.output<typeof scheduleConfig>>
  | Typed<"webhook", "webhook", Omit<WebhookConfig, "secret">>
  | Typed<"run_event", "run_event", z.output<typeof runEventConfig>>
  | Typed<"poll", "http.changed", HttpChangedConfig>
  | Typed<"poll", "postgres.new_rows", NewRowsConfig>;

interface Typed<Kind extends TriggerKind, TriggerId extends string, Config> {
  readonly kind: Kind;
  readonly trigger_id: TriggerId;
  readonly config: Config;
}

/** A kind of event that starts runs. */
export interface TriggerType extends Omit<Trigger, "config_schema"> {
  readonly trigger_id: TypedTrigger["trigger_id"];
  readonly provider_id: string;
  readonly config: z.ZodType;
  readonly sample_payload: JsonObject;
}

const text = { type: "string" };
const ID = "0197f0a0-0000-7000-8000-000000000000";

export const TRIGGER_TYPES: readonly TriggerType[] = [
  {
    trigger_id: "schedule",
    provider_id: "millrace",
    name: "Schedule",
    description: "Runs a flow at the times of a cron expression.",
    instructions: "payload.scheduled_at is the scheduled time. No time runs twice.",
    kind: "schedule",
    config: scheduleConfig,
    payload_schema: objectSchema({ scheduled_at: { ...text, format: "date-time" } }),
    sample_payload: { scheduled_at: "2030-01-31T09:00:00.000Z" },
  },
  {
    trigger_id: "webhook",
    provider_id: "millrace",
    name: "Inbound webhook",
    description: "Runs a flow for each request to its own URL.",
    instructions:
      "The URL is returned once, when you create the trigger. Enter it at the sender, and set verification and secret to match how the sender signs.",
    kind: "webhook",
    config: webhookConfig,
    payload_schema: objectSchema({
      body: {},
      headers: { type: "object", additionalProperties: text },
      query: { type: "object", additionalProperties: text },
    }),
    sample_payload: { body: { order: { id: 17 } }, headers: { "x-github-event": "push" }, query: {} },
  },
  {
    trigger_id: "run_event",
    provider_id: "millrace",
    name: "Run finished",
    description: "Runs a flow when a run finishes.",
    instructions: `A chain of runs that start each other can have up to ${MAX_TRIGGER_DEPTH} runs.`,
    kind: "run_event",
    config: runEventConfig,
    payload_schema: objectSchema({
      run_id: text,
      project_id: text,
      state: text,
      error: {},
      outputs: { type: "object" },
    }),
    sample_payload: { run_id: ID, project_id: ID, state: "COMPLETED", error: null, outputs: { "out-0": "Hi!" } },
  },
  {
    trigger_id: "http.changed",
    provider_id: "http",
    name: "URL changed",
    description: "Polls a URL every few minutes and runs a flow when the response, or a value in it, changes.",
    instructions: "The first value seen starts no run.",
    kind: "poll",
    config: httpChangedConfig,
    payload_schema: objectSchema({ url: text, value: {}, previous: {}, checked_at: text }),
    sample_payload: {
      url: "https://example.com/status",
      value: "red",
      previous: "green",
      checked_at: "2030-01-31T09:00:00.000Z",
    },
  },
  {
    trigger_id: "postgres.new_rows",
    provider_id: "postgres",
    name: "New rows",
    description: "Polls a table every few minutes and runs a flow for each new row.",
    instructions:
      "A row is new if its value in the increasing column is greater than all earlier ones. Rows that exist when the trigger is created start no run.",
    kind: "poll",
    config: newRowsConfig,
    payload_schema: objectSchema({ table: text, value: text, row: { type: "object" }, checked_at: text }),
    sample_payload: {
      table: "orders",
      value: "17",
      row: { id: 17, note: "two of them" },
      checked_at: "2030-01-31T09:00:00.000Z",
    },
  },
];

export function findTriggerType(providerId: string, triggerId: string): TriggerType | undefined {
  return TRIGGER_TYPES.find((type) => type.provider_id === providerId && type.trigger_id === triggerId);
}

/** The input of the workflow that a schedule starts. */
export interface ScheduledInput {
  readonly org_id: string;
  readonly id: string;
  /** The task queue of the activities of the run's nodes. */
  readonly node_queue: string;
}
