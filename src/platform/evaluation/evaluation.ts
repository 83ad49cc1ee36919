import { availableParallelism } from "node:os";
import { evaluatePart, evaluateSources } from "../../domain/flow/expressions/evaluate.ts";
import { sourcesOf } from "../../domain/flow/expressions/sources.ts";
import type { Source } from "../../domain/flow/expressions/sources.ts";
import { isCheap } from "../../domain/flow/expressions/work.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import type { FormIssue } from "../../domain/flow/forms/form.ts";
import type { NodeResult, PlanNode, Scope } from "../../domain/flow/plan/types.ts";
import type { CheckedFlow } from "../../domain/flow/validate/validate.ts";
import { costlyFlow } from "../../domain/flow/validate/problems.ts";
import { Problem } from "../../domain/errors.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import type { NodePart } from "../../domain/runs/run-report.ts";
import type { Json } from "../../domain/json.ts";
import { compiledEntry } from "../children/entry.ts";
import { createThreadPool, ThreadPoolError } from "./thread-pool.ts";
import type { ThreadInputs, ThreadReply, ThreadResults } from "./thread.ts";

/** Longest time of what is evaluated for a node at once, and of checking a flow or an answer (ms). */
export interface EvaluationLimits {
  readonly nodeMs?: number;
  readonly flowMs?: number;
  readonly answerMs?: number;
  /** JavaScript heap of a thread, MiB. */
  readonly heapMib?: number;
}

/**
 * Runs work whose cost a caller decides, on threads with a time limit and a heap of their own. Expressions that are
 * cheap by their text and the size of the values are evaluated inline. Where no thread
 * is free in time, nodes get the ThreadPoolError `busy` and may try again, requests the Problem `service_unavailable`.
 */
export interface Evaluation {
  /** Evaluates a part of a node's configuration. Throws NodeFailure. */
  part(orgId: string, node: PlanNode, part: NodePart, scope: Scope): Promise<NodeResult>;
  /** Evaluates several expressions and templates together, in their order. Throws NodeFailure. */
  sources(orgId: string, sources: readonly Source[], scope: Scope): Promise<readonly Json[]>;
  /** Validates and compiles a flow; one that takes too long has the problem `flow_too_costly`. */
  flow(orgId: string, flow: unknown, limits: FlowLimits): Promise<CheckedFlow>;
  /** Where data breaks a form; also where checking takes too long. */
  answer(orgId: string, form: Json, data: Json): Promise<readonly FormIssue[]>;
  close(): Promise<void>;
}

const MAX_THREADS = 4;
const MAX_WAITING = 2000;
const MAX_WAITING_PER_KEY = 64;
const MAX_WAIT_MS = 30_000;

/** Starts the threads; `close` must be called. */
export function createEvaluation(options: EvaluationLimits = {}): Evaluation {
  const { nodeMs = 2000, flowMs = 10_000, answerMs = 5000, heapMib = 1024 } = options;
  const pool = createThreadPool({
    entry: compiledEntry(new URL("./thread.ts", import.meta.url)),
    threads: Math.max(2, Math.min(MAX_THREADS, availableParallelism() - 1)),
    heapMib,
    maxWaitingPerKey: MAX_WAITING_PER_KEY,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
  });

  async function call<Name extends keyof ThreadResults>(
    name: Name,
    input: ThreadInputs[Name],
    key: string,
    timeoutMs: number,
  ): Promise<ThreadResults[Name]> {
    const reply = (await pool.call({ name, input, key, timeoutMs })) as ThreadReply<Name>;
    if ("result" in reply) return reply.result;
    throw new NodeFailure(reply.failure.code, reply.failure.message);
  }

  /** As `call`; exceeding a limit fails the node. */
  async function evaluate<Name extends "part" | "sources">(
    name: Name,
    input: ThreadInputs[Name],
    orgId: string,
    sources: readonly Source[],
  ): Promise<ThreadResults[Name]> {
    try {
      return await call(name, input, `${orgId}/node`, nodeMs);
    } catch (error) {
      const limit = limitMet(error);
      if (!limit) throw error;
      const isTemplate = sources.some(({ language }) => language === "liquid");
      throw isTemplate
        ? new NodeFailure("template_failed", `The template does too much work on these values. ${limit}`)
        : new NodeFailure("expression_too_costly", `The expression does too much work on these values. ${limit}`);
    }
  }

  /** As `call`, for an HTTP request. */
  async function check<Name extends "flow" | "answer">(
    ...[name, input, key, timeoutMs]: Parameters<typeof call<Name>>
  ): Promise<ThreadResults[Name]> {
    try {
      return await call(name, input, key, timeoutMs);
    } catch (error) {
      if (!(error instanceof ThreadPoolError) || limitMet(error)) throw error;
      const headers = { "Retry-After": "1" };
      throw new Problem("service_unavailable", "Too much is being checked at once. Try again.", { headers });
    }
  }

  return {
    async part(orgId, node, part, scope) {
      const sources = sourcesOf(node, part);
      if (isCheap(sources, scope)) return evaluatePart(node, part, scope);
      return evaluate("part", { node, part, scope }, orgId, sources);
    },

    async sources(orgId, sources, scope) {
      if (isCheap(sources, scope)) return evaluateSources(sources, scope);
      return evaluate("sources", { sources, scope }, orgId, sources);
    },

    async flow(orgId, flow, limits) {
      try {
        return await check("flow", { flow, limits }, `${orgId}/check`, flowMs);
      } catch (error) {
        const limit = limitMet(error);
        if (!limit) throw error;
        return { valid: false, problems: [costlyFlow(limit)] };
      }
    },

    async answer(orgId, form, data) {
      try {
        return await check("answer", { form, data }, `${orgId}/check`, answerMs);
      } catch (error) {
        const limit = limitMet(error);
        if (!limit) throw error;
        return [
          { path: [], message: `Checking this much data with the form takes too long: send less of it. ${limit}` },
        ];
      }
    },

    close: () => pool.close(),
  };
}

/** The limit that stopped the call, if one did. */
function limitMet(error: unknown): string | undefined {
  if (!(error instanceof ThreadPoolError)) return undefined;
  return error.failure === "timeout" || error.failure === "memory" ? error.message : undefined;
}
