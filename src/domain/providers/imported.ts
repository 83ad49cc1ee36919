import type { Action } from "./action.ts";
import { operationRequest, type OperationCall } from "./openapi/operation.ts";
import type { Provider } from "./provider.ts";

/** An imported action as it is stored, with its call as data. */
export type ImportedAction = Omit<Action, "request" | "outputs" | "tool"> &
  ({ readonly operation: OperationCall } | { readonly tool: NonNullable<Action["tool"]> });

/** The result of importing an OpenAPI document or an MCP server. */
export interface ImportedProvider {
  readonly provider: Omit<Provider, "provider_id" | "actions" | "triggers" | "check">;
  readonly actions: readonly ImportedAction[];
}

/** Longest description of an imported provider or action (characters). */
export const MAX_DESCRIPTION = 2000;
/** Most characters of JSON for all actions of an import together. */
export const MAX_TOTAL_CHARS = 64 * 1024 * 1024;
export const MAX_ACTIONS = 2000;
/**
 * Longest schemas of one action (characters of JSON, approximately). An import with MAX_ACTIONS actions of this size fits into the total.
 */
export const MAX_INPUT_CHARS = 16 * 1024;
export const MAX_OUTPUT_CHARS = 4 * 1024;

/** An imported action in the form of a built-in one. */
export function asAction(imported: ImportedAction): Action {
  if ("tool" in imported) return imported;
  const { operation, ...action } = imported;
  return {
    ...action,
    request: (inputs, credential) => operationRequest(operation, inputs, credential, action.input_schema),
  };
}

/** An unused ID for an action, based on the wanted name. */
export function actionId(wanted: string, taken: Set<string>): string {
  const base =
    wanted
      .replaceAll(/[^A-Za-z0-9_.-]+/g, "_")
      .replaceAll(/^_+|(?<!_)_+$/g, "")
      .slice(0, 120) || "operation";
  let id = base;
  for (let n = 2; taken.has(id); n += 1) id = `${base}_${n}`;
  taken.add(id);
  return id;
}
