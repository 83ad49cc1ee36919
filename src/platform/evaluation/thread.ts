import { evaluatePart, evaluateSources } from "../../domain/flow/expressions/evaluate.ts";
import type { Source } from "../../domain/flow/expressions/sources.ts";
import { checkAnswer } from "../../domain/flow/forms/form.ts";
import type { FormIssue } from "../../domain/flow/forms/form.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import type { NodeResult, PlanNode, Scope } from "../../domain/flow/plan/types.ts";
import { checkFlow as check } from "../../domain/flow/validate/validate.ts";
import type { CheckedFlow } from "../../domain/flow/validate/validate.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import type { NodePart } from "../../domain/runs/run-report.ts";
import type { Json } from "../../domain/json.ts";
import type { ThreadTask } from "./thread-pool.ts";

/** Elements that a list may be given one by one. */
const MAX_PUSHED = 2_000_000;

// In this thread only. V8 ends the whole process, not the thread, when a list that grows finds no room for its next size; a
// range whose bounds are beyond 2^53 grows without end, because adding one to them changes nothing.
const push: (this: unknown[], ...items: unknown[]) => number = Array.prototype.push;
Object.defineProperty(Array.prototype, "push", {
  configurable: true,
  writable: true,
  value: function boundedPush(this: unknown[], ...items: unknown[]): number {
    if (this.length > MAX_PUSHED) throw new RangeError("limit exceeded: a list has too many elements");
    return push.apply(this, items);
  },
});

/** What the functions of a thread take, by their names. */
export interface ThreadInputs {
  readonly part: { readonly node: PlanNode; readonly part: NodePart; readonly scope: Scope };
  readonly sources: { readonly sources: readonly Source[]; readonly scope: Scope };
  readonly flow: { readonly flow: unknown; readonly limits: FlowLimits };
  readonly answer: { readonly form: Json; readonly data: Json };
}

/** What they return. */
export interface ThreadResults {
  readonly part: NodeResult;
  readonly sources: readonly Json[];
  readonly flow: CheckedFlow;
  readonly answer: readonly FormIssue[];
}

/** A result, or a NodeFailure as plain data: errors lose their class when they leave a thread. */
export type ThreadReply<Name extends keyof ThreadResults> =
  | { readonly result: ThreadResults[Name] }
  | { readonly failure: { readonly code: string; readonly message: string } };

type ThreadFunction<Name extends keyof ThreadResults> = (task: ThreadTask) => ThreadReply<Name>;

function threadFunction<Name extends keyof ThreadResults>(
  work: (input: ThreadInputs[Name]) => ThreadResults[Name],
): ThreadFunction<Name> {
  return ({ input, started }) => {
    started.postMessage(null);
    try {
      return { result: work(input as ThreadInputs[Name]) };
    } catch (error) {
      if (!(error instanceof NodeFailure)) throw error;
      return { failure: { code: error.code, message: error.message } };
    }
  };
}

/** Evaluates a part of a node's configuration. */
export const part = threadFunction<"part">(({ node, part: which, scope }) => evaluatePart(node, which, scope));
/** Evaluates several expressions and templates. */
export const sources = threadFunction<"sources">((input) => evaluateSources(input.sources, input.scope));
/** Validates and compiles a flow. */
export const flow = threadFunction<"flow">((input) => check(input.flow, input.limits));
/** Checks the data of an answer with the form it answers. */
export const answer = threadFunction<"answer">(({ form, data }) => checkAnswer(form, data));
