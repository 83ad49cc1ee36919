import type { JsonObject, Json } from "../../src/domain/json.ts";
import { ActionRefused, type Action } from "../../src/domain/providers/action.ts";
import type { ActionAnswer, ActionToExecute } from "../../src/domain/providers/action-run.ts";
import type { ResolvedConnection } from "../../src/services/providers/resolve-connection.ts";
import { maskJson } from "../../src/platform/logging/mask-json.ts";
import { createMaskValues } from "../../src/platform/logging/mask-values.ts";
import { redactJson } from "../../src/platform/logging/redaction.ts";

/** One execution of an action. Its inputs fit the schema, and its connection exists. */
export interface ActionCall extends Pick<ActionToExecute, "version"> {
  readonly org_id: string;
  readonly action: Action;
  readonly inputs: JsonObject;
  readonly connection: ResolvedConnection | null;
  /** Only report what would be done. */
  readonly dry_run: boolean;
  /** A UUID and a suffix, the same for each attempt of a call. */
  readonly idempotency_key: string;
  readonly signal: AbortSignal;
  /** Await it right before an effect that must not happen twice. Throws if the effect may have happened before. */
  begin(): Promise<void>;
}

/** The ID of the run or action run that makes a call, with which its idempotency key begins. */
export function callerOf({ idempotency_key }: Pick<ActionCall, "idempotency_key">): string {
  return idempotency_key.slice(0, 36);
}

/** Carries out actions of a provider. Throws NodeFailure, ActionRefused, and the errors of the guarded fetch. */
export type ActionExecutor = (call: ActionCall) => Promise<ActionAnswer>;

/** A call that is not an HTTP request, in a form for people. */
export function renderedCall(connection: ResolvedConnection, call: JsonObject): Json {
  return redactJson(maskJson(call, createMaskValues(connection.secrets)));
}

/** The connection of an action that has `requires_connection`. */
export function requireConnection({ action, connection }: ActionCall): ResolvedConnection {
  if (connection === null) throw new Error(`${action.action_id} is called without a connection`);
  return connection;
}

const BASE64 = /^[A-Za-z0-9+/\s]*(?:=\s*){0,2}$/;

/** The bytes that an input of this name contains as base64. Throws ActionRefused. */
export function bytesOf(text: string, name: string): Buffer {
  if (!BASE64.test(text)) throw new ActionRefused("inputs", `${name}: must be base64`);
  return Buffer.from(text, "base64");
}
