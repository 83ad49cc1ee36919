import type { EvaluateInput, EvaluateResult } from "../../src/domain/runs/run-report.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { maskQuoted } from "../../src/domain/flow/redacted-texts.ts";
import { storeValue } from "../../src/platform/blobs/blobs.ts";
import type { BlobStore } from "../../src/platform/blobs/blobs.ts";
import type { Evaluation } from "../../src/platform/evaluation/evaluation.ts";
import type { PlanCache } from "../../src/services/projects/plans.ts";
import { loadScope } from "./values.ts";

/** Evaluates expressions that a workflow does not, because values must be loaded or the work may be expensive. */
export function createEvaluate(blobs: BlobStore, plans: PlanCache, evaluation: Evaluation) {
  return async function evaluate({ run, plan_path, part, scope }: EvaluateInput): Promise<EvaluateResult> {
    const plan = await plans.get(run);
    const known = await loadScope(blobs, scope, run.run_id);
    const result = await evaluation.part(run.org_id, plan.node(plan_path), part, known).catch((error: unknown) => {
      if (error instanceof NodeFailure) error.message = maskQuoted(error.message, plan.redact, known);
      throw error;
    });
    return {
      value: await storeValue(blobs, run.org_id, result.output),
      ...(result.handles ? { handles: result.handles } : {}),
    };
  };
}
