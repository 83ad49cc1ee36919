import type { Action } from "./action.ts";
import { operationRequest } from "./openapi/operation.ts";
import type { OperationCall } from "./openapi/operation.ts";
import type { Provider } from "./provider.ts";

/** An action as it is stored: the call is data. */
export type ImportedAction = Omit<Action, "request" | "outputs" | "tool"> &
  ({ readonly operation: OperationCall } | { readonly tool: NonNullable<Action["tool"]> });

/** The result of importing a document or a server. */
export interface ImportedProvider {
  readonly provider: Omit<Provider, "provider_id" | "actions" | "triggers" | "check">;
  readonly actions: readonly ImportedAction[];
}

/** Longest description of an imported provider or action (characters). */
export const MAX_DESCRIPTION = 2000;
/** Longest all actions of an import may be together (characters of JSON). */
export const MAX_TOTAL_CHARS = 64 * 1024 * 1024;
/** Most actions of an imported provider. */
export const MAX_ACTIONS = 2000;
/** Longest schemas of an action (characters of JSON, about): with them, the densest import fits into the total. */
export const MAX_INPUT_CHARS = 16 * 1024;
export const MAX_OUTPUT_CHARS = 4 * 1024;

/** An imported action as the rest of the service uses it. */
export function asAction(imported: ImportedAction): Action {
  if ("tool" in imported) return imported;
  const { operation, ...action } = imported;
  return { ...action, request: (inputs, credential) => operationRequest(operation, inputs, credential) };
}

/** An unused id for an action, made from the name that is wanted. */
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
