import type { z } from "zod";
import { conflict, invalid } from "../../domain/errors.ts";
import { VALUE_TYPES, numberOf, verdictOf, scoreMetadataSchema } from "../../domain/evals/score-result.ts";
import { isActive, verdictOf as verdictOfGates } from "../../domain/evals/experiment.ts";
import { patched, type Patch } from "../../domain/patch.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Database, Db } from "../../stores/db.ts";
import { pinnedEvaluators } from "../../stores/evals/evaluators.ts";
import { findExperiment, reviseResult } from "../../stores/evals/experiments.ts";
import { correctScore, deleteScore as remove, type ScoreRow } from "../../stores/evals/scores.ts";
import { changeLocked } from "../change.ts";
import { changesNothing } from "./datasets.ts";
import { statusOf } from "./experiment-status.ts";
import { gatesOf } from "./experiments.ts";
import { requireScore } from "./give-score.ts";
import { findRunMetadata } from "../../stores/evals/run-values.ts";
import { recordDeleted, type RowAudit } from "../audit/audit.ts";

/** The changed fields of a score; absent fields are unchanged. */
export interface ScoreCorrection {
  readonly value?: number | boolean | string | undefined;
  /** If absent, it is derived from the value, if the value decides it. */
  readonly passed?: boolean | null | undefined;
  readonly comment?: string | null | undefined;
  readonly metadata?: Patch<z.input<typeof scoreMetadataSchema>> | undefined;
}

/**
 * Corrects a score. The original value is kept with it, and the result of a finished experiment with this score is
 * computed again. Calls `check` with the locked score before it changes anything. Throws 404, and 422 for a value of
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
      const { value, comment = row.comment } = change;
      const metadata =
        change.metadata === undefined
          ? row.metadata
          : patched(scoreMetadataSchema, "metadata", row.metadata, change.metadata);
      if (value !== undefined && typeof value !== VALUE_TYPES[row.data_type])
        throw invalid(
          ["body", "value"],
          `The value of a ${row.data_type} score must be a ${VALUE_TYPES[row.data_type]}`,
        );
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
        number: value === undefined && passed === row.passed ? row.number : numberOf({ value: next.value, passed }),
        label: typeof value === "string" ? value : row.label,
        error: value === undefined ? row.error : null,
        corrected,
      });
      await reviseExperimentOf(connection, row);
      return await requireScore(connection, scoreId);
    },
  });
}

/** Whether a score passes with another value: by its evaluator's rule, or by the boolean. */
async function passedBy(db: Db, row: ScoreRow, value: ScoreCorrection["value"]): Promise<boolean | null> {
  if (value === undefined) return row.passed;
  const { evaluator_id, evaluator_version: version } = row;
  if (evaluator_id === null || version === null) return typeof value === "boolean" ? value : row.passed;
  const [pinned] = await pinnedEvaluators(db, [{ evaluator_id, version }]);
  const verdict = pinned === undefined ? null : verdictOf(pinned.definition, value);
  // A text value decides whether the score passes only if it is a label of a judge; otherwise `passed` is unchanged.
  return verdict === null && typeof value === "string" ? row.passed : verdict;
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
      throw conflict("This score comes from an evaluator: correct it, or score the run again with a job.");
    await remove(connection, scoreId);
    await recordDeleted(connection, audited, score);
  });
}

/** Computes the stored result of a finished experiment again after a score has changed. */
async function reviseExperimentOf(db: Db, { run_id, source }: ScoreRow): Promise<void> {
  if (source !== "evaluator") return;
  const id = (await findRunMetadata(db, run_id))?.["experiment_id"];
  if (typeof id !== "string" || !isUuid(id)) return;
  const experiment = await findExperiment(db, id, true);
  if (experiment === null || isActive(experiment.state) || experiment.result === null) return;
  const result = await statusOf(db, experiment);
  // If runs were purged with their scores, the stored result is more complete and is kept.
  if (result.scores.done < experiment.result.scores.done) return;
  const verdict = verdictOfGates(experiment.state, await gatesOf(db, experiment, result));
  await reviseResult(db, id, result, verdict);
}
