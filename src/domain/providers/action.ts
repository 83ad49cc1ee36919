import type { Json, JsonObject } from "../json.ts";
import { NodeFailure } from "../runs/failure.ts";
import type { Credential } from "./connection.ts";

/** What an action does to the world; decides whether it may be repeated. */
export interface ActionAnnotations {
  readonly read_only: boolean;
  readonly destructive: boolean;
  /** Whether doing it twice with the same inputs is the same as doing it once. */
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
  | { readonly json: Json }
  | { readonly form: ReadonlyArray<readonly [string, string]> }
  | { readonly text: string; readonly type: string }
  | { readonly bytes: Uint8Array; readonly type: string }
  | { readonly parts: readonly BodyPart[] };

/** An HTTP request without what authenticates it. */
export interface ActionRequest {
  readonly method: string;
  readonly url: string;
  readonly query?: ReadonlyArray<readonly [string, string]>;
  /** Parts of the query that are encoded already: in a list, what separates the items is not encoded, and what is in them is. */
  readonly encoded_query?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
}

/** An answer of 2xx. */
export interface ActionResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

/** Thrown if an action cannot be carried out with these inputs, or the service refused it in an answer of 2xx. */
export class ActionRefused extends Error {
  /** "inputs": the caller's fault; "upstream": the service's word. */
  readonly by: "inputs" | "upstream";

  constructor(by: "inputs" | "upstream", message: string) {
    super(message);
    this.name = "ActionRefused";
    this.by = by;
  }
}

/** Thrown if a call failed, by code that knows how much of it the service has done. */
export class ActionFailed extends NodeFailure {
  /** "none": certainly nothing; "unknown": nobody can know; "some": the service answered what came of it. */
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
   * The request of an action that is one HTTP request; the others have an executor of their own. Pure. `credential` is {}
   * without a connection. Throws ActionRefused.
   */
  readonly request?: (inputs: JsonObject, credential: Credential) => ActionRequest;
  /** What the answer yields; default its body. Throws ActionRefused. */
  readonly outputs?: (response: ActionResponse) => Json;
  /** The name of the MCP server's tool. */
  readonly tool?: { readonly name: string; readonly url: string };
}

/** Something that happens and starts runs. */
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
  /** For people and, without `llm`, for models. */
  readonly description: string;
  readonly llm?: string;
  readonly output_schema?: JsonObject;
  readonly requires_connection?: boolean;
  readonly timeout_seconds?: number;
};

/** An action of a built-in provider. */
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

/** The schema of an object whose members are all required but those in `optional`. */
export function inputsOf(
  properties: Readonly<Record<string, JsonObject>>,
  optional: readonly string[] = [],
): JsonObject {
  return {
    type: "object",
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  };
}

/** A value as text: strings as they are, others as JSON, "" for none. */
export function asText(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** An address below a base, whatever slashes they have between them. */
export function below(base: Json | undefined, path: string): string {
  return `${asText(base).replace(/(?<!\/)\/+$/, "")}/${path.replace(/^\/+/, "")}`;
}

/** The members of an object that are set. */
export function given(members: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;
}

/** The same as query parameters; lists are repeated. */
export function queryOf(members: Readonly<Record<string, Json | undefined>>): Array<readonly [string, string]> {
  return Object.entries(given(members)).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each: Json): readonly [string, string] => [name, asText(each)]),
  );
}
