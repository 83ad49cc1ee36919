import { Problem, ValidationProblem, invalid, notFound, required } from "../../domain/errors.ts";
import { checkDefinition, partsOf } from "../../domain/evals/evaluator.ts";
import type { EvaluatorDefinition } from "../../domain/evals/evaluator.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { newWebhookSecret } from "../../domain/webhooks/webhook-signature.ts";
import type { Evaluation } from "../../platform/evaluation/evaluation.ts";
import type { SecretBox } from "../../platform/secrets/seal.ts";
import type { Database, Db } from "../../stores/db.ts";
import {
  findEvaluator,
  insertEvaluator,
  markEvaluatorDeleted,
  reviseEvaluator,
} from "../../stores/evals/evaluators.ts";
import type { EvaluatorRow } from "../../stores/evals/evaluators.ts";
import { experimentsUsing } from "../../stores/evals/experiments.ts";
import { monitorsUsing } from "../../stores/evals/monitors.ts";
import { changeChecked } from "../change.ts";
import { requireConnection } from "../providers/connections.ts";
import { changesNothing } from "./datasets.ts";
import type { EvaluatorPin } from "./score-runs.ts";
import { secretContext } from "./scorer.ts";
import { recordCreated, recordDeleted } from "../audit/audit.ts";
import type { RowAudit } from "../audit/audit.ts";

/** What evaluators need. */
export interface EvaluatorDeps {
  readonly db: Database;
  readonly evaluation: Pick<Evaluation, "schema">;
  readonly secrets: SecretBox;
}

/** Throws 404 where there is none. */
export async function requireEvaluator(db: Db, evaluatorId: string, lock = false): Promise<EvaluatorRow> {
  return required(await findEvaluator(db, evaluatorId, lock), "evaluator");
}

/** Each evaluator once, in its present version. Throws 404 for a missing one. */
export async function pinEvaluators(db: Db, ids: readonly string[]): Promise<EvaluatorPin[]> {
  const pins: EvaluatorPin[] = [];
  for (const evaluator_id of new Set(ids)) {
    const { version } = await requireEvaluator(db, evaluator_id);
    pins.push({ evaluator_id, version });
  }
  return pins;
}

/**
 * Checks the definition of an evaluator, including parts given by id. Throws 422 with every fault, at `place`; 404 for
 * the id of a part or a connection.
 */
export async function requireDefinition(
  { db, evaluation }: Pick<EvaluatorDeps, "db" | "evaluation">,
  orgId: string,
  input: Readonly<Record<string, unknown>>,
  place: readonly string[] = ["body"],
): Promise<EvaluatorDefinition> {
  const checked = checkDefinition(await withParts(db, orgId, input));
  if (!checked.ok) {
    throw new ValidationProblem(
      checked.faults.map(({ path, message }) => ({ loc: [...place, ...path], msg: message, type: "value_error" })),
    );
  }
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

/** Replaces each part's id by the present definition of that evaluator. */
async function withParts(
  db: Database,
  orgId: string,
  input: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const config = input["config"] as JsonObject | undefined;
  const parts = config?.["parts"];
  if (input["type"] !== "composite" || !Array.isArray(parts)) return input;
  const whole: unknown[] = [];
  for (const part of parts as Json[]) {
    const id = typeof part === "object" && part !== null && "evaluator_id" in part ? part["evaluator_id"] : undefined;
    if (typeof id !== "string") whole.push(part);
    else {
      if (!/^[0-9a-f-]{36}$/i.test(id)) throw notFound("evaluator");
      const { definition } = await db.org(orgId, (connection) => requireEvaluator(connection, id));
      const { evaluator_id: _, ...own } = part as JsonObject;
      whole.push({ ...definition, ...own });
    }
  }
  return { ...input, config: { ...config, parts: whole } };
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
  const secret = definition.type === "webhook" ? newWebhookSecret() : null;
  const sealed = secret === null ? null : deps.secrets.seal(secret, secretContext(evaluator_id));
  const row = await deps.db.orgTransaction(org_id, async (connection) => {
    const created = await insertEvaluator(connection, { ...evaluator, definition, secret: sealed });
    const found = await requireEvaluator(connection, evaluator_id);
    if (created) await recordCreated(connection, audited, found);
    return found;
  });
  // An earlier attempt of the same request made it, with another secret.
  const kept = row.secret === null ? null : deps.secrets.open(row.secret, secretContext(evaluator_id));
  return { row, secret: kept };
}

/** The changeable members; absent ones stay. */
export interface EvaluatorChange {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Members of the definition. */
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
    find: (connection) => requireEvaluator(connection, evaluatorId),
    lock: (connection) => requireEvaluator(connection, evaluatorId, true),
    requireMatch: check,
    revisionOf: ({ version }) => version,
    prepare: (row) => requireDefinition(deps, orgId, { ...row.definition, ...given }),
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

const NAMED_USERS = 100;

/**
 * Deletes an evaluator; its versions stay for scores. Throws 404, and 409 if experiments or monitors have pinned one
 * of them.
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
    if (used_by.length > 0)
      throw new Problem("in_use", "Experiments or monitors score with it: delete those first.", { extra: { used_by } });
    await markEvaluatorDeleted(connection, id);
    await recordDeleted(connection, audited, evaluator);
  });
}
