import type { Principal } from "../../domain/accounts/principal.ts";
import { ValidationProblem } from "../../domain/errors.ts";
import { validateRunInputs } from "../../domain/flow/io/run-inputs.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Json } from "../../domain/json.ts";
import type { RanByType } from "../../domain/runs/run.ts";

/** The inputs of a run, checked against its flow. Throws the 422 with every offending input. */
export function requireInputs(
  maxInputBytes: number,
  plan: Plan,
  body: unknown,
  options?: Parameters<typeof validateRunInputs>[3],
): { readonly inputs: Readonly<Record<string, Json>>; readonly ignored: readonly string[] } {
  const { inputs, ignored, issues } = validateRunInputs(plan, body, { max_input_bytes: maxInputBytes }, options);
  if (issues.length > 0) throw new ValidationProblem(issues);
  return { inputs, ignored };
}

/** Who runs it, as the run's row says it. */
export function ranBy(principal: Principal): { ran_by_type: RanByType; ran_by_id: string } {
  return { ran_by_type: principal.type, ran_by_id: principal.id };
}
