import { celMeterOfNode } from "../../src/domain/flow/expressions/cel/limits.ts";
import { evaluatePart } from "../../src/domain/flow/expressions/evaluate.ts";
import type { EvaluateInput, EvaluateResult } from "../../src/domain/runs/run-report.ts";
import { storeValue } from "../../src/platform/blobs/blobs.ts";
import type { BlobStore } from "../../src/platform/blobs/blobs.ts";
import type { PlanCache } from "../../src/services/projects/plans.ts";
import { createTurns } from "./turns.ts";
import { loadScope } from "./values.ts";

/** Longest rendering of one template (ms). It shares its process with others, so it is short. */
const RENDER_MS = 1000;

/** Evaluates what a workflow cannot: where values have to be loaded, or a template's cost has to be watched by a clock. */
export function createEvaluate(blobs: BlobStore, plans: PlanCache) {
  const inTurn = createTurns();
  return async function evaluate({ run, plan_path, part, scope }: EvaluateInput): Promise<EvaluateResult> {
    const node = (await plans.get(run)).node(plan_path);
    const known = await loadScope(blobs, scope, run.run_id);
    const result = await inTurn(() =>
      evaluatePart(node, part, known, { renderMs: RENDER_MS, meter: celMeterOfNode() }),
    );
    return {
      value: await storeValue(blobs, run.org_id, result.output),
      ...(result.handles ? { handles: result.handles } : {}),
    };
  };
}
