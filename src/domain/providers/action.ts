import { z } from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../json-schema.ts";
import type { Json, JsonObject } from "../json.ts";
import { NodeFailure } from "../runs/failure.ts";
import type { Credential } from "./connection.ts";

const jsonSchema = jsonObjectSchema.describe("A JSON Schema (2020-12).");

export const actionSchema = z
  .object({
    action_id: z.string(),
    provider_id: z.string(),
    name: z.string(),
    description: z.object({
      human: z.string().describe("Description for people."),
      llm: z.string().describe("Description for a model that can call the action."),
    }),
    input_schema: jsonSchema,
    output_schema: jsonSchema,
    annotations: z.object({
      read_only: z.boolean().describe("The action changes nothing."),
      destructive: z.boolean().describe("The action may overwrite or delete data."),
      idempotent: z.boolean().describe("Running it twice has the same effect as once. Only such actions are retried."),
    }),
    requires_connection: z.boolean(),
    timeout_seconds: z.int().describe("Default time limit of one run, in seconds."),
    version: z.string(),
  })
  .meta({ id: "Action" });

/** The effects of an action, which decide whether it may be repeated. */
export type ActionAnnotations = Readonly<z.output<typeof actionSchema>["annotations"]>;

export const READS: ActionAnnotations = { read_only: true, destructive: false, idempotent: true };
export const ADDS: ActionAnnotations = { read_only: false, destructive: false, idempotent: false };
export const CHANGES: ActionAnnotations = { read_only: false, destructive: true, idempotent: true };

/** Whether an action may be retried when its outcome is unknown. */
export function isRepeatable({ read_only, idempotent }: ActionAnnotations): boolean {
  return read_only || idempotent;
}

export interface BodyPart {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly filename?: string;
  readonly type?: string;
}

export type RequestBody =
  /** `text`: how it is written, if not as JSON.stringify does. */
  | { readonly json: Json; readonly text?: string }
  | { readonly form: ReadonlyArray<readonly [string, string]> }
  | { readonly text: string; readonly type: string }
  | { readonly bytes: Uint8Array; readonly type: string }
  | { readonly parts: readonly BodyPart[] };

/** An HTTP request without its authentication. */
export interface ActionRequest {
  readonly method: string;
  readonly url: string;
  readonly query?: ReadonlyArray<readonly [string, string]>;
  /** Parts of the query that are already encoded, because the separator of a list must stay unencoded between encoded items. */
  readonly encoded_query?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
}

/** A response with status 2xx. */
export interface ActionResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

/** Thrown if an action cannot be executed with these inputs, or if the service refused it in a 2xx response. */
export class ActionRefused extends Error {
  /** "inputs": the inputs are invalid; "upstream": the service refused. */
  readonly by: "inputs" | "upstream";

  constructor(by: "inputs" | "upstream", message: string) {
    super(message);
    this.name = "ActionRefused";
    this.by = by;
  }
}

/** Thrown for a failed call, by code that knows how much of it the service has done. */
export class ActionFailed extends NodeFailure {
  /** "none": certainly nothing was done; "unknown": this cannot be known; "some": the service reported what was done. */
  readonly effect: "none" | "unknown" | "some";

  constructor(
    effect: ActionFailed["effect"],
    code: string,
    message: string,
    options: { readonly retryable?: boolean; readonly upstream_status?: number; readonly cause?: unknown } = {},
  ) {
    super(code, message, { upstream: true, ...options });
    this.effect = effect;
  }
}

export interface Action extends Readonly<Omit<z.output<typeof actionSchema>, "provider_id">> {
  /**
   * The request of an action that is a single HTTP request; other actions have their own executor. Pure. `credential` is {} without a
   * connection. Throws ActionRefused.
   */
  readonly request?: (inputs: JsonObject, credential: Credential) => ActionRequest;
  /** The action's output from the response; default its body. Throws ActionRefused. */
  readonly outputs?: (response: ActionResponse) => Json;
  /** The MCP server's tool that the action calls. */
  readonly tool?: { readonly name: string; readonly url: string };
}

/** An event of a provider that starts runs. */
export const triggerSchema = z
  .object({
    trigger_id: z.string(),
    provider_id: z.string(),
    name: z.string(),
    description: z.string(),
    instructions: z.string().describe("How to set up the trigger at the provider."),
    kind: z.enum(["webhook", "schedule", "poll", "run_event"]),
    config_schema: jsonSchema,
    payload_schema: jsonSchema,
    sample_payload: jsonValueSchema,
  })
  .meta({ id: "ProviderTrigger" });
export type Trigger = Readonly<Omit<z.output<typeof triggerSchema>, "provider_id">>;

type Fields = Readonly<Record<string, JsonObject>>;

/** The schema of an object that requires the fields of `required` and may have those of `optional`. */
export function inputsOf(required: Fields, optional: Fields = {}): JsonObject {
  const properties = { ...required, ...optional };
  return { type: "object", properties, required: Object.keys(required), additionalProperties: false };
}

/** A value as text: strings as they are, others as JSON, "" for no value. */
export function asText(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A URL below a base, with exactly one slash between them. */
export function below(base: Json | undefined, path: string): string {
  return `${asText(base).replace(/(?<!\/)\/+$/, "")}/${path.replace(/^\/+/, "")}`;
}

/** The fields of an object that have a value. */
export function given(members: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;
}

/** The fields that have a value, as query parameters; lists become repeated parameters. */
export function queryOf(members: Readonly<Record<string, Json | undefined>>): Array<readonly [string, string]> {
  return Object.entries(given(members)).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each: Json): readonly [string, string] => [name, asText(each)]),
  );
}
