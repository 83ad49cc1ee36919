import { NodeFailure } from "../../../src/domain/runs/failure.ts";
import type { PlanNode } from "../../../src/domain/flow/plan/types.ts";
import { MAX_INLINE_ITEMS } from "../budgets.ts";
import { iterationFrame, type Frame } from "../frame.ts";
import type { LoopState } from "../slice.ts";
import { evaluate, outputsOf } from "../values.ts";
import type { Executor, Interpreter } from "./executor.ts";
import { isInline } from "./map.ts";
import { yieldOf } from "./results.ts";
import { runLoopSlice, SLICE_SIZE } from "./slices.ts";

/** Runs the nested flow as long as `while` holds, at most `max_iterations` times. The node's value is that of the last iteration. */
export const executeLoop: Executor<"loop"> = async (frame, node, interpreter) => {
  const { max_iterations, on_exhausted } = node.config;
  const { value: initial } = await evaluate(frame, node, "initial");
  const inline = isInline(node.nested);
  if (!inline) interpreter.announce();
  // The first iterations run in this workflow; a long loop continues in child workflows, whose histories start empty.
  const here = Math.min(inline ? MAX_INLINE_ITEMS : SLICE_SIZE, max_iterations);
  let state: LoopState = await runRounds(frame, node, { index: 0, last: initial, finished: false }, here, interpreter);
  while (!state.finished && state.index < max_iterations) {
    state = await runLoopSlice(frame, node, state, Math.min(state.index + SLICE_SIZE, max_iterations));
  }
  if (!state.finished && on_exhausted === "fail" && (await goesOn(frame, node, state))) {
    throw new NodeFailure(
      "iterations_exhausted",
      `The loop's condition still holds after ${max_iterations} iterations. Allow more with max_iterations, or set on_exhausted to "continue".`,
    );
  }
  return { value: state.last };
};

/** Whether `while` holds for the next iteration. */
async function goesOn(
  frame: Frame,
  node: PlanNode,
  { index, last }: Pick<LoopState, "index" | "last">,
): Promise<boolean> {
  const { iteration } = iterationFrame(frame, node, index, { last });
  // `while` belongs to the loop, but reads the variables of the next iteration.
  const { value } = await evaluate({ ...frame, iteration, outer: frame }, node, "while");
  return "v" in value && value.v === true;
}

/** Runs iterations until `while` no longer holds or the index `until` is reached. */
export async function runRounds(
  frame: Frame,
  node: PlanNode,
  from: LoopState,
  until: number,
  interpreter: Interpreter,
): Promise<LoopState> {
  let { index, last } = from;
  for (; index < until; index += 1) {
    const holds = await goesOn(frame, node, { index, last });
    if (!holds || frame.ctx.cancellation.stopped) return { index, last, finished: true };
    const inner = iterationFrame(frame, node, index, { last });
    frame.ctx.budgets.spendIterations(1);
    await interpreter.runFrame(inner);
    last = await yieldOf(frame.ctx, outputsOf(inner));
    await frame.ctx.record.flushIfMany();
  }
  return { index, last, finished: false };
}
