import { createFormCompiler, type CheckedForm, type FormIssue } from "../../domain/flow/forms/form.ts";
import type { Json } from "../../domain/json.ts";
import { withRoundedIntegers } from "../../domain/providers/read-texts.ts";
import type { Action } from "../../domain/providers/action.ts";
import type { Provider } from "../../domain/providers/provider.ts";
import type { Evaluation } from "../../platform/evaluation/evaluation.ts";

/** Returns where inputs break the schema of an action. */
export type CheckInputs = (
  orgId: string,
  provider: Pick<Provider, "source">,
  action: Action,
  inputs: Json,
) => Promise<readonly FormIssue[]>;

/** Built-in schemas are compiled once. Imported schemas are checked with limits of time and memory. */
export function createInputCheck(evaluation: Pick<Evaluation, "schema">): CheckInputs {
  const compile = createFormCompiler();
  const known = new Map<Action, CheckedForm>();
  return async (orgId, { source }, action, inputs) => {
    if (source !== "builtin") {
      // Only OpenAPI schemas see long integers as numbers; an MCP server receives them as text, so they are checked as
      // text.
      const given = source === "openapi" ? withRoundedIntegers(action.input_schema, inputs) : inputs;
      const checked = await evaluation.schema(orgId, action.input_schema, [given]);
      return checked.ok ? (checked.issues[0] ?? []) : [{ path: [], message: checked.message }];
    }
    const form = known.get(action) ?? compile(action.input_schema);
    known.set(action, form);
    if (!form.ok) throw new Error(`the inputs of ${action.action_id} cannot be read: ${form.message}`);
    return form.check(inputs);
  };
}
