import { isCancellation } from "@temporalio/workflow";
import type { Plan, PlanNodeOf } from "../../../src/domain/flow/plan/types.ts";
import type { StoredValue } from "../../../src/domain/json.ts";
import { local } from "../../activities.ts";
import { errorValue, NodeFailed } from "../failure.ts";
import { iterationFrame, type Frame } from "../frame.ts";
import { evaluate, outputsOf } from "../values.ts";
import { eachUntilFailure } from "./each-until-failure.ts";
import type { Executor, Interpreter } from "./executor.ts";
import { assemble, yieldOf } from "./results.ts";
import { runSlices, SLICE_SIZE } from "./slices.ts";

/** Number of results that are joined at a time. */
const PART_SIZE = 500;

/** Runs the nested flow for each item, several concurrently. The node's value is the list of results in the items' order. */
export const executeMap: Executor<"map"> = async (frame, node, interpreter) => {
  const { ctx } = frame;
  const { value: items } = await evaluate(frame, node, "items");
  const { count, list } = await unfold(frame, items);
  ctx.budgets.spendIterations(count);
  const inline = isInline(node.nested);
  if (!inline) interpreter.announce();
  if (list && (inline ? ctx.budgets.takesInline(count) : count <= SLICE_SIZE)) {
    return { value: await mapItems(frame, node, list, 0, interpreter) };
  }
  // Slices write only their own nodes, so without this the start of the map would not be recorded until they end.
  await ctx.record.flush();
  return { value: await runSlices(frame, node, { items, count }) };
};

/** The length of the list, with its items if they are few enough for this workflow. */
async function unfold(
  frame: Frame,
  items: StoredValue,
): Promise<{ count: number; list: readonly StoredValue[] | null }> {
  if ("v" in items) {
    const list = (Array.isArray(items.v) ? items.v : []).map((v) => ({ v }));
    return { count: list.length, list };
  }
  const { org_id } = frame.ctx.input;
  const { count, items: first } = await frame.ctx.work.whileLocalActivityRuns(() =>
    local.splitItems({ org_id, items, from: 0, to: SLICE_SIZE }),
  );
  return { count, list: count <= SLICE_SIZE ? first : null };
}

/** Whether a flow runs without activities and timers at every depth. */
export function isInline(plan: Plan | undefined): boolean {
  return (
    plan === undefined ||
    plan.nodes.every(({ execution, type, nested }) => execution === "inline" || (type === "map" && isInline(nested)))
  );
}

/** Runs the given items; `offset` is the index of the first one. */
export async function mapItems(
  frame: Frame,
  node: PlanNodeOf<"map">,
  items: readonly StoredValue[],
  offset: number,
  interpreter: Interpreter,
  max_concurrency = node.config.max_concurrency,
): Promise<StoredValue> {
  const { ctx } = frame;
  const { on_item_error } = node.config;
  const results: Array<StoredValue | undefined> = Array.from({ length: items.length });
  const runItem = async (at: number): Promise<void> => {
    const inner = iterationFrame(frame, node, offset + at, { item: items[at] ?? { v: null } });
    try {
      await interpreter.runFrame(inner);
      results[at] = await yieldOf(ctx, outputsOf(inner));
    } catch (error) {
      if (isCancellation(error) || !(error instanceof NodeFailed) || on_item_error === "fail") throw error;
      if (on_item_error === "collect") results[at] = { v: { error: errorValue(error.error) } };
    }
    await ctx.record.flushIfMany();
  };
  await eachUntilFailure(items.length, max_concurrency, runItem, () => ctx.cancellation.stopped);
  return gather(frame, results);
}

/** Joins all results into one list. Long lists are joined in parts, so that the workflow never holds all of it twice. */
async function gather(frame: Frame, results: ReadonlyArray<StoredValue | undefined>): Promise<StoredValue> {
  const kept = results.filter((result) => result !== undefined);
  if (kept.length <= PART_SIZE) return assemble(frame.ctx, "array", kept);
  const parts: StoredValue[] = [];
  for (let at = 0; at < kept.length; at += PART_SIZE)
    parts.push(await assemble(frame.ctx, "array", kept.slice(at, at + PART_SIZE)));
  return assemble(frame.ctx, "concat", parts);
}
