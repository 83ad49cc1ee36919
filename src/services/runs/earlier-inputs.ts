import { ValidationProblem } from "../../domain/errors.ts";
import type { ValidationIssue } from "../../domain/errors.ts";
import { REDACTED } from "../../domain/flow/redact.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Json } from "../../domain/json.ts";
import { loadValue } from "../../platform/blobs/blobs.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";

/** An earlier run's inputs, overridden by new ones. Throws 422 if the earlier inputs were redacted. */
export async function earlierInputs(
  blobs: BlobStore,
  run: RunRow,
  plan: Plan,
  anew: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, unknown>> {
  const issues: ValidationIssue[] = [];
  const inputs: Array<[string, unknown]> = [];
  const redacts = (plan.settings.redact ?? []).length > 0;
  for (const [id, value] of Object.entries(run.inputs)) {
    if (Object.hasOwn(anew, id)) continue;
    const json: Json = await loadValue(blobs, value);
    if (redacts && JSON.stringify(json).includes(REDACTED)) {
      issues.push({
        loc: ["body", "inputs", id],
        msg: "This input of the earlier run was not kept; send it again",
        type: "missing",
      });
    }
    inputs.push([id, json]);
  }
  if (issues.length > 0) throw new ValidationProblem(issues);
  return Object.fromEntries([...inputs, ...Object.entries(anew)]);
}
