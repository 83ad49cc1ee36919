import { z } from "zod";
import type { Config } from "../../config.ts";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_WIDE_JSON_VALUES } from "../http/json-guard.ts";
import { operationsOf } from "../http/operation.ts";
import { named } from "../http/schemas.ts";
import { MAX_PATH_CHARS, MAX_SKILL_BYTES, MAX_SKILL_FILES } from "../../domain/skills/bundle.ts";
import { MAX_FRONT_MATTER_CHARS } from "../../domain/skills/front-matter.ts";
import { MAX_SUBSCRIPTIONS } from "../../domain/webhooks/webhook.ts";

const limitsSchema = named("Limits", {
  json_body_bytes: z.int(),
  run_body_bytes: z.int().describe("Maximum body of operations that take a run's inputs, in bytes."),
  json_depth: z.int(),
  json_values: z.int().describe("Maximum number of fields and items in one body."),
  wide_json_values: z
    .int()
    .describe("Maximum number of fields and items in a body with a run's inputs, a flow or an import."),
  upload_bytes: z.int(),
  input_bytes: z.int().describe("Maximum size of one run input after decoding, in bytes."),
  nodes_per_flow: z.int(),
  iterations_per_run: z.int(),
  sync_wait_seconds: z.number().describe("Maximum time an inference request waits for its run, in seconds."),
  run_timeout_seconds: z.int().describe("Run timeout in seconds, if neither the flow nor the request sets one."),
  max_run_timeout_seconds: z.int(),
  requests_per_minute: z
    .int()
    .nullable()
    .describe("Maximum requests per minute and credential; `null` means unlimited."),
  concurrent_runs: z
    .int()
    .nullable()
    .describe("Maximum unfinished runs per organisation, including paused runs; `null` means unlimited."),
  webhook_subscriptions: z.int().describe("Maximum per organisation."),
  triggers: z.int().describe("Maximum per organisation."),
  schedule_seconds: z.int().describe("Shortest interval between two runs of a schedule, in seconds."),
  event_retention_seconds: z.int().describe("How long events are kept for replays, in seconds."),
  monitors: z.int().describe("Maximum number of monitors per organisation."),
  evaluators_per_monitor: z.int(),
  monitor_window_seconds: z.int().describe("Shortest window of an alert condition, in seconds."),
  monitored_runs_per_hour: z.int().describe("Maximum sampled runs per monitor and hour."),
  monitor_retention_days: z.int().describe("How long samples and statistics of monitors are kept, in days."),
  skill_files: z.int().describe("Maximum number of files of a skill, including `SKILL.md`."),
  skill_bytes: z.int().describe("Maximum total size of a skill's files, in bytes."),
  skill_path_chars: z.int().describe("Maximum length of a file path within a skill, in characters."),
  skill_front_matter_chars: z.int().describe("Maximum length of the front matter of `SKILL.md`, in characters."),
  page_size: z.int(),
  idempotency_seconds: z.int().describe("How long the response to an `Idempotency-Key` is kept, in seconds."),
});

const limitsOf = (config: Config): z.infer<typeof limitsSchema> => ({
  json_body_bytes: config.MILLRACE_JSON_LIMIT_BYTES,
  run_body_bytes: config.MILLRACE_RUN_BODY_LIMIT_BYTES,
  json_depth: MAX_JSON_DEPTH,
  json_values: MAX_JSON_VALUES,
  wide_json_values: MAX_WIDE_JSON_VALUES,
  upload_bytes: config.MILLRACE_UPLOAD_LIMIT_BYTES,
  input_bytes: config.MILLRACE_INPUT_LIMIT_BYTES,
  nodes_per_flow: config.MILLRACE_MAX_NODES,
  iterations_per_run: config.MILLRACE_MAX_ITERATIONS,
  sync_wait_seconds: config.MILLRACE_SYNC_WAIT_MS / 1000,
  run_timeout_seconds: config.MILLRACE_RUN_TIMEOUT_SECONDS,
  max_run_timeout_seconds: config.MILLRACE_MAX_RUN_TIMEOUT_SECONDS,
  requests_per_minute: config.MILLRACE_RATE_LIMIT ?? null,
  concurrent_runs: config.MILLRACE_MAX_CONCURRENT_RUNS ?? null,
  webhook_subscriptions: MAX_SUBSCRIPTIONS,
  triggers: config.MILLRACE_MAX_TRIGGERS,
  schedule_seconds: config.MILLRACE_MIN_SCHEDULE_SECONDS,
  event_retention_seconds: Math.floor(config.MILLRACE_EVENT_RETENTION_MS / 1000),
  monitors: config.MILLRACE_MAX_MONITORS,
  evaluators_per_monitor: config.MILLRACE_MAX_MONITOR_EVALUATORS,
  monitor_window_seconds: config.MILLRACE_MONITOR_MIN_WINDOW_SECONDS,
  monitored_runs_per_hour: config.MILLRACE_MONITOR_RUNS_PER_HOUR,
  monitor_retention_days: config.MILLRACE_MONITOR_RETENTION_DAYS,
  skill_files: MAX_SKILL_FILES,
  skill_bytes: MAX_SKILL_BYTES,
  skill_path_chars: MAX_PATH_CHARS,
  skill_front_matter_chars: MAX_FRONT_MATTER_CHARS,
  page_size: 200,
  idempotency_seconds: 86_400,
});

const define = operationsOf({ tag: "Service", auth: "secret" });

/** `/v2/limits`. */
export const limitsOperations = [
  define({
    id: "getLimits",
    route: "GET /v2/limits",
    summary: "Get the limits of this installation",
    description: "Returns the limits of requests, flows and runs. `null` means that a limit is off.",
    success: { 200: { description: "The limits.", schema: limitsSchema } },
    async handler(_request, { config }) {
      return { status: 200, body: limitsOf(config) };
    },
  }),
];
