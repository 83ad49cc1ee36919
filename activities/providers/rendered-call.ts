import type { Json, JsonObject } from "../../src/domain/json.ts";
import { maskJson } from "../../src/platform/logging/mask-json.ts";
import { createMaskValues } from "../../src/platform/logging/mask-values.ts";
import { redactJson } from "../../src/platform/logging/redaction.ts";
import type { ResolvedConnection } from "../../src/services/providers/resolve-connection.ts";
import type { ActionCall } from "./action-call.ts";

/** A call that is not an HTTP request, in a form for people. */
export function renderedCall(connection: ResolvedConnection, call: JsonObject): Json {
  return redactJson(maskJson(call, createMaskValues(connection.secrets)));
}

/** The connection of an action that has `requires_connection`. */
export function requireConnection({ action, connection }: ActionCall): ResolvedConnection {
  if (connection === null) throw new Error(`${action.action_id} is called without a connection`);
  return connection;
}
