import type { z } from "zod";
import { invalid, invalidParts, notFound, required } from "../../domain/errors.ts";
import {
  checkDefinition,
  evaluatorInputSchema,
  partsOf,
  scaleOf,
  type EvaluatorDefinition,
} from "../../domain/evals/evaluator.ts";
import { defaultThreshold, kindOf } from "../../domain/evals/evaluators/index.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { mergePatch } from "../../domain/patch.ts";
import { newWebhookSecret } from "../../domain/webhooks/webhook-signature.ts";
import type { Database, Db } from "../../stores/db.ts";
import {
  findEvaluator,
  insertEvaluator,
  markEvaluatorDeleted,
  reviseEvaluator,
  type EvaluatorRow,
} from "../../stores/evals/evaluators.ts";
import { experimentsUsing } from "../../stores/evals/experiments.ts";
import { monitorsUsing } from "../../stores/evals/monitors.ts";
import { changeChecked } from "../change.ts";
import { requireConnection } from "../providers/connections.ts";
import { changesNothing, refuseUsed } from "./datasets.ts";
import type { EvaluatorPin } from "./score-runs.ts";
import { secretContext } from "../../stores/secrets/sealed.ts";
import { recordCreated, recordDeleted, type RowAudit } from "../audit/audit.ts";
import type { Parts } from "../parts.ts";

export type EvaluatorDeps = Parts<"db" | "secrets" | "evaluation">;

/** The evaluator with this ID. Throws 404. */
export async function requireEvaluator(db: Db, evaluatorId: string, lock = false): Promise<EvaluatorRow> {
  return required(await findEvaluator(db, evaluatorId, lock), "evaluator");
}

/** Each evaluator once, in its current version. Throws 404 for a missing one. */
export async function pinEvaluators(db: Db, ids: readonly string[]): Promise<EvaluatorPin[]> {
  const pins: EvaluatorPin[] = [];
  for (const evaluator_id of new Set(ids)) {
    const { version } = await requireEvaluator(db, evaluator_id);
    pins.push({ evaluator_id, version });
  }
  return pins;
}

/**
 * Checks the definition of an evaluator, including parts given by id. Throws 422 with every problem, located under
 * `place`; 404 for an unknown part or connection.
 */
export async function requireDefinition(
  { db, evaluation }: Pick<EvaluatorDeps, "db" | "evaluation">,
  orgId: string,
  input: Readonly<Record<string, unknown>>,
  place: readonly string[] = ["body"],
): Promise<EvaluatorDefinition> {
  const checked = checkDefinition(await withParts(db, orgId, input, place));
  if (!checked.ok) throw invalidParts(place, checked.faults);
  const { definition } = checked;
  for (const part of partsOf(definition)) {
    if (part.type === "llm_judge" && part.config.connection_id !== undefined) {
      const { connection_id } = part.config;
      await db.org(orgId, (connection) => requireConnection(connection, connection_id));
    }
    if (part.type !== "json_schema") continue;
    const schema = await evaluation.schema(orgId, part.config.schema, []);
    if (!schema.ok) throw invalid([...place, "config", "schema"], schema.message);
  }
  return definition;
}

/** Replaces each part's ID by the current definition of that evaluator. */
async function withParts(
  db: Database,
  orgId: string,
  input: Readonly<Record<string, unknown>>,
  place: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const config = input["config"] as JsonObject | undefined;
  const parts = config?.["parts"];
  if (input["type"] !== "composite" || !Array.isArray(parts)) return input;
  const whole: unknown[] = [];
  for (const [index, part] of (parts as Json[]).entries()) {
    const id = typeof part === "object" && part !== null && "evaluator_id" in part ? part["evaluator_id"] : undefined;
    if (typeof id !== "string") whole.push(part);
    else {
      if (!/^[0-9a-f-]{36}$/i.test(id)) throw notFound("evaluator");
      const { definition } = await db.org(orgId, (connection) => requireEvaluator(connection, id));
      const { evaluator_id: _, ...own } = part as JsonObject;
      const next = { ...definition, ...own } as JsonObject;
      const at = [...place, "config", "parts", index];
      whole.push(own["score"] === undefined ? rethreshold(definition, next, at) : next);
    }
  }
  return { ...input, config: { ...config, parts: whole } };
}

/**
 * Adapts an evaluator to a change without a threshold: a default threshold follows the new configuration. Throws 422 if
 * a threshold was chosen on another scale, because it must be chosen again.
 */
function rethreshold(
  before: EvaluatorDefinition,
  next: JsonObject,
  place: ReadonlyArray<string | number>,
): Readonly<Record<string, unknown>> {
  const { type, config, score } = before;
  const { pass_threshold, ...others } = { ...score, ...(next["score"] as JsonObject) };
  if (pass_threshold === defaultThreshold(type, config, score.direction)) return { ...next, score: others };
  const scaled = checkDefinition({ ...next, score: others });
  const [old, now] = [scaleOf(before), scaled.ok ? scaleOf(scaled.definition) : null];
  if (old === null || now === null || pass_threshold === null) return next;
  if (old.min === now.min && old.max === now.max) return next;
  const message = `Send a pass_threshold on the new scale, from ${now.min} to ${now.max}: the current ${score.pass_threshold} was set on the scale from ${old.min} to ${old.max}`;
  throw invalid([...place, "score", "pass_threshold"], message);
}

/** Creates an evaluator. For a webhook it returns the secret that signs its requests, which is shown only here. */
export async function createEvaluator(
  deps: EvaluatorDeps,
  evaluator: Pick<EvaluatorRow, "evaluator_id" | "org_id" | "name" | "description" | "template_id">,
  input: Readonly<Record<string, unknown>>,
  audited: RowAudit<EvaluatorRow>,
): Promise<{ readonly row: EvaluatorRow; readonly secret: string | null }> {
  const { evaluator_id, org_id } = evaluator;
  const definition = await requireDefinition(deps, org_id, input);
  const context = secretContext("evaluators", evaluator_id, "secret");
  const sealed = definition.type === "webhook" ? deps.secrets.seal(newWebhookSecret(), context) : null;
  const row = await deps.db.orgTransaction(org_id, async (connection) => {
    const created = await insertEvaluator(connection, { ...evaluator, definition, secret: sealed });
    const found = await requireEvaluator(connection, evaluator_id);
    if (created) await recordCreated(connection, audited, found);
    return found;
  });
  // An earlier attempt of the same request created the evaluator with its own secret, so that one is returned.
  return { row, secret: row.secret && deps.secrets.open(row.secret, context) };
}

/** The changeable fields; absent fields are unchanged. */
export interface EvaluatorChange {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Fields of the definition. */
  readonly definition: Readonly<Record<string, unknown>>;
}

/**
 * Adds a version to an evaluator. Calls `check` with the locked evaluator before it changes anything. Throws 404 and
 * 422.
 */
export async function changeEvaluator(
  deps: EvaluatorDeps,
  orgId: string,
  evaluatorId: string,
  { name, description, definition: given }: EvaluatorChange,
  check: (row: EvaluatorRow) => void,
  audited: RowAudit<EvaluatorRow>,
): Promise<EvaluatorRow> {
  return await changeChecked(deps.db, orgId, {
    audited,
    read: (connection, lock) => requireEvaluator(connection, evaluatorId, lock),
    requireMatch: check,
    revisionOf: ({ version }) => version,
    prepare: ({ definition: before }) => {
      const next = mergePatch(definitionSchema(before), before, given) as JsonObject;
      const { pass_threshold } = (given["score"] ?? {}) as JsonObject;
      return requireDefinition(deps, orgId, pass_threshold === undefined ? rethreshold(before, next, ["body"]) : next);
    },
    async write(connection, row, definition) {
      if (changesNothing(row, { name, description, definition })) return row;
      await reviseEvaluator(connection, {
        ...row,
        name: name ?? row.name,
        description: description ?? row.description,
        definition,
      });
      return await requireEvaluator(connection, evaluatorId);
    },
  });
}

/** The schema of an evaluator's definition, with the configuration of its type. */
function definitionSchema({ type }: EvaluatorDefinition): z.ZodType {
  return evaluatorInputSchema.extend({ config: kindOf(type).config });
}

const NAMED_USERS = 100;

/**
 * Deletes an evaluator; its versions are kept for their scores. Throws 404, and 409 if experiments or monitors have
 * pinned one of them.
 */
export async function deleteEvaluator(
  { db }: Pick<EvaluatorDeps, "db">,
  orgId: string,
  id: string,
  audited: RowAudit<EvaluatorRow>,
): Promise<void> {
  await db.orgTransaction(orgId, async (connection) => {
    const evaluator = await requireEvaluator(connection, id, true);
    const experiments = await experimentsUsing(connection, "evaluator_id", id, NAMED_USERS);
    const monitors = await monitorsUsing(connection, id, NAMED_USERS);
    const used_by = [...monitors, ...experiments].slice(0, NAMED_USERS);
    refuseUsed(used_by, "Experiments or monitors use this evaluator: delete those first.");
    await markEvaluatorDeleted(connection, id);
    await recordDeleted(connection, audited, evaluator);
  });
}
