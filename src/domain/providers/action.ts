import type { Json, JsonObject } from "../json.ts";
import { NodeFailure } from "../runs/failure.ts";
import type { Credential } from "./connection.ts";

/** The effects of an action, which decide whether it may be repeated. */
export interface ActionAnnotations {
  readonly read_only: boolean;
  readonly destructive: boolean;
  /** Whether executing it twice with the same inputs has the same effect as once. */
  readonly idempotent: boolean;
}

export const READS: ActionAnnotations = { read_only: true, destructive: false, idempotent: true };
export const ADDS: ActionAnnotations = { read_only: false, destructive: false, idempotent: false };
export const CHANGES: ActionAnnotations = { read_only: false, destructive: true, idempotent: true };

/** Whether an action may be retried when its outcome is unknown. */
export function isRepeatable({ read_only, idempotent }: ActionAnnotations): boolean {
  return read_only || idempotent;
}

/** A part of a multipart body. */
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

export interface Action {
  readonly action_id: string;
  readonly name: string;
  readonly description: { readonly human: string; readonly llm: string };
  readonly input_schema: JsonObject;
  readonly output_schema: JsonObject;
  readonly annotations: ActionAnnotations;
  readonly requires_connection: boolean;
  readonly timeout_seconds: number;
  readonly version: string;
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
export interface Trigger {
  readonly trigger_id: string;
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly kind: "webhook" | "schedule" | "poll" | "run_event";
  readonly config_schema: JsonObject;
  readonly payload_schema: JsonObject;
  readonly sample_payload: Json;
}

type ActionDraft = Pick<Action, "action_id" | "name" | "annotations" | "input_schema" | "request" | "outputs"> & {
  /** The description for people and, without `llm`, for models. */
  readonly description: string;
  readonly llm?: string;
  readonly output_schema?: JsonObject;
  readonly requires_connection?: boolean;
  readonly timeout_seconds?: number;
};

type Fields = Readonly<Record<string, JsonObject>>;

/** Defines an action of a built-in provider. */
export function defineAction({ description, llm, ...draft }: ActionDraft): Action {
  return {
    output_schema: {},
    requires_connection: true,
    timeout_seconds: 60,
    version: "1",
    ...draft,
    description: { human: description, llm: llm ?? description },
  };
}

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
