import { Problem, invalid } from "../../domain/errors.ts";
import { VALUE_TYPES, numberOf, verdictOf } from "../../domain/evals/evaluator.ts";
import { isActive, verdictOf as verdictOfGates } from "../../domain/evals/experiment.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Database, Db } from "../../stores/db.ts";
import { pinnedEvaluators } from "../../stores/evals/evaluators.ts";
import { findExperiment, reviseResult } from "../../stores/evals/experiments.ts";
import { correctScore, deleteScore as remove } from "../../stores/evals/scores.ts";
import type { ScoreRow } from "../../stores/evals/scores.ts";
import { changeLocked } from "../change.ts";
import { changesNothing } from "./datasets.ts";
import { statusOf } from "./experiment-status.ts";
import { gatesOf } from "./experiments.ts";
import { requireScore } from "./give-score.ts";
import { findRunMetadata } from "../../stores/evals/run-values.ts";
import { recordDeleted } from "../audit/audit.ts";
import type { RowAudit } from "../audit/audit.ts";

/** The changed members of a score; absent ones stay. */
export interface ScoreCorrection {
  readonly value?: number | boolean | string | undefined;
  /** If absent, it follows from the value where the value decides it. */
  readonly passed?: boolean | null | undefined;
  readonly comment?: string | null | undefined;
  readonly metadata?: JsonObject | undefined;
}

/**
 * Corrects a score. The first value is kept with it, and an ended experiment with this score gets its result worked
 * out again. Calls `check` with the locked score before it changes anything. Throws 404, and 422 for a value of
 * another type.
 */
export async function changeScore(
  db: Database,
  orgId: string,
  scoreId: string,
  change: ScoreCorrection,
  by: string,
  check: (row: ScoreRow) => void,
  audited: RowAudit<ScoreRow>,
): Promise<ScoreRow> {
  return await changeLocked(db, orgId, {
    audited,
    lock: (connection) => requireScore(connection, scoreId, true),
    requireMatch: check,
    async write(connection, row) {
      const { value, comment = row.comment, metadata = row.metadata } = change;
      if (value !== undefined && typeof value !== VALUE_TYPES[row.data_type])
        throw invalid(["body", "value"], `The value of a ${row.data_type} score is a ${VALUE_TYPES[row.data_type]}`);
      const passed = change.passed === undefined ? await passedBy(connection, row, value) : change.passed;
      const next = { value: value ?? row.value, passed, comment, metadata };
      if (changesNothing(row, next)) return row;
      const corrected = {
        value: row.value,
        passed: row.passed,
        comment: row.comment,
        error: row.error,
        ...row.corrected,
        by,
        at: new Date().toISOString(),
      };
      await correctScore(connection, {
        score_id: scoreId,
        ...next,
        number:
          value === undefined && passed === row.passed ? row.number : numberOf({ value: valueOf(next.value), passed }),
        label: typeof value === "string" ? value : row.label,
        error: value === undefined ? row.error : null,
        corrected,
      });
      await reviseExperimentOf(connection, row);
      return await requireScore(connection, scoreId);
    },
  });
}

function valueOf(value: Json): number | boolean | string | null {
  return typeof value === "object" ? null : value;
}

/** Whether a score passes with another value: by its evaluator's rule, or by the boolean. */
async function passedBy(db: Db, row: ScoreRow, value: ScoreCorrection["value"]): Promise<boolean | null> {
  if (value === undefined) return row.passed;
  const { evaluator_id, evaluator_version: version } = row;
  if (evaluator_id === null || version === null) return typeof value === "boolean" ? value : row.passed;
  const [pinned] = await pinnedEvaluators(db, [{ evaluator_id, version }]);
  // The judge's configuration already decided whether a label passes.
  return pinned === undefined || typeof value === "string" ? row.passed : verdictOf(pinned.definition, value);
}

/** Deletes a score by a program or a person. Throws 404, and 409 for a score by an evaluator. */
export async function deleteScore(
  db: Database,
  orgId: string,
  scoreId: string,
  audited: RowAudit<ScoreRow>,
): Promise<void> {
  await db.orgTransaction(orgId, async (connection) => {
    const score = await requireScore(connection, scoreId, true);
    if (score.source === "evaluator")
      throw new Problem("conflict", "An evaluator has given it: correct it, or have the run scored again by a job.");
    await remove(connection, scoreId);
    await recordDeleted(connection, audited, score);
  });
}

/** An ended experiment keeps its result; a changed score changes that result. */
async function reviseExperimentOf(db: Db, { run_id, source }: ScoreRow): Promise<void> {
  if (source !== "evaluator") return;
  const id = (await findRunMetadata(db, run_id))?.["experiment_id"];
  if (typeof id !== "string" || !isUuid(id)) return;
  const experiment = await findExperiment(db, id, true);
  if (experiment === null || isActive(experiment.state) || experiment.result === null) return;
  const result = await statusOf(db, experiment);
  // If runs have expired with their scores, the earlier count stays.
  if (result.scores.done < experiment.result.scores.done) return;
  const verdict = verdictOfGates(experiment.state, await gatesOf(db, experiment, result));
  await reviseResult(db, id, result, verdict);
}
