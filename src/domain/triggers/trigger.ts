import { z } from "zod";
import type { JsonObject } from "../json.ts";
import { TERMINAL_STATES } from "../runs/run.ts";
import { isWebhookSecret } from "../webhooks/webhook-signature.ts";
import { cronFault, shownTimeZone, timeZoneOf } from "../cron.ts";
import { parseJsonPath } from "../json-path.ts";

export const TRIGGER_KINDS = ["webhook", "schedule", "poll", "run_event"] as const;
export type TriggerKind = (typeof TRIGGER_KINDS)[number];

/** Most runs that may start each other one after the other by `run_event` triggers. */
export const MAX_TRIGGER_DEPTH = 8;

/** What to do when a schedule is due while a run of it is under way. */
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
    "Minute, hour, day of the month, month, day of the week; or six fields with the second first; or @hourly, @daily, @weekly, @monthly, " +
      "@yearly. Where both the day of the month and the day of the week are given, both have to hold: 0 9 13 * fri is each Friday the 13th.",
  ),
  time_zone: z
    .string()
    .max(100)
    .refine((text) => timeZoneOf(text) !== null, "a time zone such as Europe/Berlin is expected")
    .overwrite(shownTimeZone)
    .default("UTC")
    .describe(
      "Of the IANA database, in any case; an alias is kept as it is written. Times that a change of clocks skips are left out.",
    ),
  overlap: z
    .enum(OVERLAPS)
    .default("skip")
    .describe("When a run of it is still under way: leave the time out, keep one or all for later, or run beside it."),
  catchup_window_seconds: z
    .int()
    .min(10)
    .max(31_536_000)
    .default(3600)
    .describe("Times missed while the service was down are made up for if they are not longer ago."),
  jitter_seconds: z.int().min(0).max(3600).default(0).describe("Starts up to so much later, at random."),
});

const webhookConfig = z
  .strictObject({
    verification: z.enum(VERIFICATIONS).default("none").describe("How the sender signs what it sends."),
    secret: z
      .string()
      .min(8)
      .max(1000)
      .optional()
      .meta({ writeOnly: true, description: "What it signs with. Never shown." }),
    handshake: z
      .enum(HANDSHAKES)
      .optional()
      .describe(
        "How the sender asks beforehand whether the address is ours: `slack` (url_verification), `meta` (hub.challenge, whose " +
          "hub.verify_token is the secret), `microsoft_graph` (validationToken). Their challenge is given back, and no run starts.",
      ),
  })
  .refine(
    ({ verification, secret }) =>
      verification !== "standard_webhooks" || secret === undefined || isWebhookSecret(secret),
    {
      path: ["secret"],
      message: "a secret of Standard Webhooks is whsec_ and the base64 of 24 to 64 bytes",
    },
  );

const runEventConfig = z.strictObject({
  project_id: z
    .uuid()
    .toLowerCase()
    .nullable()
    .default(null)
    .describe("The project whose runs start it; null: any project."),
  states: z.array(z.enum(TERMINAL_STATES)).min(1).max(3).default(["COMPLETED"]).describe("How they have ended."),
});

const httpChangedConfig = z.strictObject({
  url: z.url({ protocol: /^https?$/, error: "an address that begins with http:// or https:// is expected" }).max(2000),
  every_minutes: z.int().min(1).max(1440).default(5),
  json_path: z
    .string()
    .max(500)
    .refine((text) => parseJsonPath(text) !== null, "a path such as $.items[0].id is expected")
    .default("$")
    .describe("Where in the answer's JSON the value is; of anything else `$` is the text."),
});

const newRowsConfig = z.strictObject({
  connection_id: z.uuid().toLowerCase().describe("A connection of provider postgres."),
  table: z
    .string()
    .max(200)
    .regex(/^[^\s".]{1,63}(?:\.[^\s".]{1,63})?$/, "a table such as orders or shop.orders is expected")
    .describe("The table or view, with its schema where that is not the usual one."),
  column: z
    .string()
    .regex(/^[^\s".]{1,63}$/, "the name of a column is expected")
    .default("id")
    .describe("One that only grows from row to row, and has an index: a serial number or a time of creation."),
  every_minutes: z.int().min(1).max(1440).default(5),
});

export type WebhookConfig = z.output<typeof webhookConfig>;
export type HttpChangedConfig = z.output<typeof httpChangedConfig>;
export type NewRowsConfig = z.output<typeof newRowsConfig>;

/** The type of a trigger, and the configuration that it is stored with. Its secret is stored apart. */
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

/** A way in which a provider starts runs. */
export interface TriggerType {
  readonly trigger_id: TypedTrigger["trigger_id"];
  readonly provider_id: string;
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly kind: TriggerKind;
  readonly config: z.ZodType;
  /** JSON Schema of what expressions of the inputs see as `payload`. */
  readonly payload_schema: JsonObject;
  readonly sample_payload: JsonObject;
}

const text = { type: "string" };
const anything = {};
const object = (properties: JsonObject): JsonObject => ({
  type: "object",
  properties,
  required: Object.keys(properties),
});
const RUN_ID = "0197f0a0-0000-7000-8000-000000000000";

/** Every kind of trigger there is. */
export const TRIGGER_TYPES: readonly TriggerType[] = [
  {
    trigger_id: "schedule",
    provider_id: "millrace",
    name: "Schedule",
    description: "Runs a flow at the times of a cron expression.",
    instructions: "payload.scheduled_at is the time it was due. No time is run twice.",
    kind: "schedule",
    config: scheduleConfig,
    payload_schema: object({ scheduled_at: { ...text, format: "date-time" } }),
    sample_payload: { scheduled_at: "2030-01-31T09:00:00.000Z" },
  },
  {
    trigger_id: "webhook",
    provider_id: "millrace",
    name: "Inbound webhook",
    description: "Runs a flow for each request to an address of its own.",
    instructions:
      "The answer to the creation has the address, once. Give it to the sender with verification and secret as the sender signs.",
    kind: "webhook",
    config: webhookConfig,
    payload_schema: object({
      body: anything,
      headers: { type: "object", additionalProperties: text },
      query: { type: "object", additionalProperties: text },
    }),
    sample_payload: { body: { order: { id: 17 } }, headers: { "x-github-event": "push" }, query: {} },
  },
  {
    trigger_id: "run_event",
    provider_id: "millrace",
    name: "Run finished",
    description: "Runs a flow when a run has ended.",
    instructions: `Runs that start each other are limited to ${MAX_TRIGGER_DEPTH} one after the other.`,
    kind: "run_event",
    config: runEventConfig,
    payload_schema: object({
      run_id: text,
      project_id: text,
      state: text,
      error: anything,
      outputs: { type: "object" },
    }),
    sample_payload: {
      run_id: RUN_ID,
      project_id: RUN_ID,
      state: "COMPLETED",
      error: null,
      outputs: { "out-0": "Hi!" },
    },
  },
  {
    trigger_id: "http.changed",
    provider_id: "http",
    name: "Address changed",
    description:
      "Asks an address every few minutes, and runs a flow when the answer, or a value in it, is another one.",
    instructions: "What is seen first starts no run.",
    kind: "poll",
    config: httpChangedConfig,
    payload_schema: object({ url: text, value: anything, previous: anything, checked_at: text }),
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
    description: "Looks into a table every few minutes, and runs a flow for each row that is new.",
    instructions:
      "New is what has a greater value in the growing column than any row before. Rows that are there at first start no run.",
    kind: "poll",
    config: newRowsConfig,
    payload_schema: object({ table: text, value: text, row: { type: "object" }, checked_at: text }),
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
