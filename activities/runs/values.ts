import { memberOf, type Json, type StoredValue } from "../../src/domain/json.ts";
import type { Scope } from "../../src/domain/flow/scope.ts";
import type {
  AssembleInput,
  SplitItemsInput,
  SplitItemsResult,
  StoreOutputsInput,
  StoredScope,
  TakeMemberInput,
  EvaluateInput,
  EvaluateResult,
} from "../../src/domain/runs/run-report.ts";
import { loadValue, storeReference, storeValue, type BlobStore } from "../../src/platform/blobs/blobs.ts";
import { storeInputs } from "../../src/services/runs/create-run.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { maskQuoted } from "../../src/domain/flow/redacted-texts.ts";
import type { Evaluation } from "../../src/platform/evaluation/evaluation.ts";
import type { PlanCache } from "../../src/services/projects/plans.ts";

/**
 * Longest total of a list's items that an activity returns by value (characters), so that a slice of 250 stays small
 * in the history.
 */
const ITEM_CHARS = 1024;

/** The scope with every value loaded. */
export async function loadScope(blobs: BlobStore, stored: StoredScope, runId: string): Promise<Scope> {
  const [nodes, inputs, item, last] = await Promise.all([
    loadAll(blobs, stored.nodes),
    loadAll(blobs, stored.inputs),
    stored.item ? loadValue(blobs, stored.item) : undefined,
    stored.last ? loadValue(blobs, stored.last) : undefined,
  ]);
  return {
    nodes,
    inputs,
    run: { id: runId, user_id: stored.user_id, metadata: stored.metadata },
    ...(item === undefined ? {} : { item }),
    ...(stored.index === undefined ? {} : { index: stored.index }),
    ...(last === undefined ? {} : { last }),
  };
}

async function loadAll(blobs: BlobStore, values: Readonly<Record<string, StoredValue>>): Promise<Record<string, Json>> {
  const loaded = await Promise.all(
    Object.entries(values).map(async ([id, value]) => [id, await loadValue(blobs, value)] as const),
  );
  return Object.fromEntries(loaded);
}

/** Stores one field of a value as a separate value. */
export async function takeMember(blobs: BlobStore, { org_id, value, member }: TakeMemberInput): Promise<StoredValue> {
  return storeValue(blobs, org_id, memberOf(await loadValue(blobs, value), member));
}

/** Joins values: into a list, a list of lists' items, or an object. Throws NodeFailure `value_too_large`. */
export async function assemble(
  blobs: BlobStore,
  { org_id, kind, parts, names = [] }: AssembleInput,
): Promise<StoredValue> {
  const values = await Promise.all(parts.map((part) => loadValue(blobs, part)));
  switch (kind) {
    case "array":
      return storeValue(blobs, org_id, values);
    case "concat":
      return storeValue(
        blobs,
        org_id,
        values.flatMap((list) => list as readonly Json[]),
      );
    case "object":
      return storeValue(blobs, org_id, Object.fromEntries(names.map((name, at) => [name, values[at] ?? null])));
    default:
      return kind satisfies never;
  }
}

/** Replaces outputs by references once their total is too long. */
export async function storeOutputs(
  blobs: BlobStore,
  { org_id, outputs }: StoreOutputsInput,
): Promise<Record<string, StoredValue>> {
  const inline = Object.entries(outputs).flatMap(([id, value]) => ("v" in value ? [[id, value.v] as const] : []));
  return { ...outputs, ...(await storeInputs(blobs, org_id, Object.fromEntries(inline))) };
}

/** Some items of a long list as separate values. */
export async function splitItems(
  blobs: BlobStore,
  { org_id, items, from, to }: SplitItemsInput,
): Promise<SplitItemsResult> {
  const list = (await loadValue(blobs, items)) as readonly Json[];
  const slice = await Promise.all(
    list.slice(from, to).map(async (item): Promise<StoredValue> => {
      const text = JSON.stringify(item);
      return text.length <= ITEM_CHARS ? { v: item } : storeReference(blobs, org_id, text);
    }),
  );
  return { count: list.length, items: slice };
}

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
