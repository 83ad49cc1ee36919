import { availableParallelism } from "node:os";
import { evaluatePart, evaluateSources, sourcesOf } from "../../domain/flow/expressions/evaluate.ts";
import type { Source } from "../../domain/flow/expressions/evaluated-kinds.ts";
import { isCheap } from "../../domain/flow/expressions/work.ts";
import type { EvaluatorDefinition, Outcome } from "../../domain/evals/evaluator.ts";
import type { EvalSample } from "../../domain/evals/evaluators/kind.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import type { CheckedValues, FormIssue } from "../../domain/flow/forms/form.ts";
import type { PlanNode } from "../../domain/flow/plan/types.ts";
import type { NodeResult, Scope } from "../../domain/flow/scope.ts";
import type { CheckedFlow, CheckOptions } from "../../domain/flow/validate/validate.ts";
import { costlyFlow } from "../../domain/flow/validate/problems.ts";
import { Problem } from "../../domain/errors.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import type { NodePart } from "../../domain/runs/run-report.ts";
import type { Json } from "../../domain/json.ts";
import { createChildPool } from "../children/child-pool.ts";
import { ChildPoolError, withRetry, type PoolFailure } from "../children/pool-failure.ts";
import { compiledEntry, readableByChild } from "../children/entry.ts";
import type { ChildRequest } from "../children/spawn.ts";
import { parseJson } from "../json/parse-json.ts";
import { bytesOf } from "../json/write-json.ts";
import type {
  EvaluationInputs,
  EvaluationName,
  EvaluationReply,
  EvaluationResults,
  MadeProvider,
  ProviderSource,
} from "./protocol.ts";

/** Thrown when a limit stopped the work; the message names the limit. */
class LimitExceeded extends Error {}

/** Longest time of one evaluation for a node, and of validating a flow or a form's data (ms). */
export interface EvaluationLimits {
  readonly nodeMs?: number;
  readonly flowMs?: number;
  readonly answerMs?: number;
  /** Longest time of scoring a batch of samples (ms). */
  readonly scoresMs?: number;
  /** JavaScript heap of a process, MiB. */
  readonly heapMib?: number;
}

/**
 * Runs work whose cost the caller controls, in child processes with a time limit and a heap of their own: V8 ends the whole process when a
 * heap is full, so a thread would not isolate it. Expressions that are cheap, judged by their text and the size of the values, are
 * evaluated inline. If no process is free in time, nodes get the ChildPoolError `queue_full` and may be retried, requests the Problem
 * `service_unavailable`.
 */
export interface Evaluation {
  /** Evaluates a part of a node's configuration. Throws NodeFailure. */
  part(orgId: string, node: PlanNode, part: NodePart, scope: Scope): Promise<NodeResult>;
  /** Evaluates several expressions and templates together, in their order. Throws NodeFailure. */
  sources(orgId: string, sources: readonly Source[], scope: Scope): Promise<readonly Json[]>;
  /**
   * Validates and compiles a flow; a flow that takes too long has the problem `flow_too_costly`. With `scope`, also returns what its nodes
   * see.
   */
  flow(orgId: string, flow: unknown, limits: FlowLimits, options?: CheckOptions): Promise<CheckedFlow>;
  /** The locations where data violates a form; also reports if checking takes too long. */
  answer(orgId: string, form: Json, data: Json): Promise<readonly FormIssue[]>;
  /** Checks values with a JSON Schema that a user wrote; without values, the schema alone. */
  schema(orgId: string, schema: Json, values: readonly Json[]): Promise<CheckedValues>;
  /**
   * Scores samples by evaluators that make no calls: for each sample, in the order of the definitions. An evaluator that does too much work
   * on a sample fails for that sample only.
   */
  scores(
    orgId: string,
    definitions: readonly EvaluatorDefinition[],
    samples: readonly EvalSample[],
  ): Promise<readonly (readonly Outcome[])[]>;
  /** Makes a provider from a document or from the tools of a server. */
  provider(orgId: string, source: ProviderSource): Promise<MadeProvider>;
  close(): Promise<void>;
}

const MAX_PROCESSES = 4;
/** Time limit of the work: each millisecond allows for reading this many bytes of its input. */
const READ_BYTES_PER_MS = 10_000;
const MAX_READ_MS = 10_000;
/** Values are limited to 25 MiB when they are made, as characters. */
const MAX_OUTPUT_BYTES = 128 * 1024 * 1024;
/** Base time limit of making a provider (ms). */
const PROVIDER_MS = 20_000;
/** The owner and the lane of the work, so that requests do not queue behind runs. */
interface WorkOf {
  readonly key: string;
  readonly lane: "node" | "check" | "scores";
}

const NO_FAULT: readonly PoolFailure[] = ["queue_full", "start_failed", "closed"];

/** Child processes start with the first work that needs one; `close` must be called. */
export function createEvaluation(options: EvaluationLimits = {}): Evaluation {
  const { nodeMs = 2000, flowMs = 10_000, answerMs = 5000, scoresMs = 2000, heapMib = 256 } = options;
  const entry = compiledEntry(new URL("./child.ts", import.meta.url));
  const pool = createChildPool({
    entry,
    nodeFlags: ["--stack-size=2000"],
    readable: readableByChild(entry, [
      "ajv",
      "ajv-formats",
      "liquidjs",
      "re2js",
      "zod",
      "fastest-levenshtein",
      "acorn",
      "yaml",
    ]),
    heapMib,
    // Memory for the values and the result as text, in addition to the heap.
    dataMib: heapMib + 384,
    size: Math.max(2, Math.min(MAX_PROCESSES, availableParallelism() - 1)),
    spares: 0,
    keep: 2,
    shared: true,
    maxQueue: 2000,
    maxQueuePerKey: 64,
    maxWaitMs: 30_000,
    maxCalls: 100_000,
    timeoutMs: Math.max(nodeMs, flowMs, answerMs, PROVIDER_MS) + MAX_READ_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
  });

  /** Throws NodeFailure, LimitExceeded or ChildPoolError. */
  async function call<Name extends EvaluationName>(
    name: Name,
    input: EvaluationInputs[Name],
    { key, lane }: WorkOf,
    timeoutMs: number,
  ): Promise<EvaluationResults[Name]> {
    const body = await bytesOf(input as unknown as Json);
    try {
      const limit = timeoutMs + Math.min(MAX_READ_MS, body.byteLength / READ_BYTES_PER_MS);
      const request = (): ChildRequest => ({ header: { name }, body });
      const frame = await withRetry(() => pool.call({ key, lane, request, timeoutMs: limit }));
      const { failure } = frame.header as unknown as EvaluationReply;
      if (failure !== null) throw new NodeFailure(failure.code, failure.message);
      return (await parseJson(frame.body)) as EvaluationResults[Name];
    } catch (error) {
      if (!(error instanceof ChildPoolError)) throw error;
      if (error.failure === "timeout") throw new LimitExceeded(`It took longer than ${timeoutMs} ms.`);
      if (error.failure === "memory") throw new LimitExceeded(`It needed more than ${heapMib} MiB of memory.`);
      if (error.failure === "output_too_large") throw new LimitExceeded("The result is too long.");
      throw error;
    }
  }

  /** Like `call`; a node whose work exceeds a limit fails. */
  async function evaluate<Name extends "part" | "sources">(
    name: Name,
    input: EvaluationInputs[Name],
    orgId: string,
    sources: readonly Source[],
  ): Promise<EvaluationResults[Name]> {
    try {
      return await call(name, input, { key: orgId, lane: "node" }, nodeMs);
    } catch (error) {
      if (!(error instanceof LimitExceeded)) throw error;
      const isTemplate = sources.some(({ language }) => language === "liquid");
      const [code, what] = isTemplate ? ["template_failed", "template"] : ["expression_too_costly", "expression"];
      throw new NodeFailure(code, `The ${what} exceeds its work limit for these values. ${error.message}`);
    }
  }

  /** Like `call`, for an HTTP request: the error says which limit was exceeded. */
  async function check<Name extends "flow" | "answer" | "schema" | "provider">(
    name: Name,
    input: EvaluationInputs[Name],
    orgId: string,
    timeoutMs: number,
    tooCostly: (why: string) => EvaluationResults[Name],
  ): Promise<EvaluationResults[Name]> {
    try {
      return await call(name, input, { key: orgId, lane: "check" }, timeoutMs);
    } catch (error) {
      if (error instanceof LimitExceeded) return tooCostly(error.message);
      if (!(error instanceof ChildPoolError && NO_FAULT.includes(error.failure))) throw error;
      const headers = { "Retry-After": "1" };
      throw new Problem("service_unavailable", "Too many validations at the same time. Retry.", { headers });
    }
  }

  async function scoresOf(
    orgId: string,
    definitions: readonly EvaluatorDefinition[],
    samples: readonly EvalSample[],
  ): Promise<readonly (readonly Outcome[])[]> {
    if (definitions.length === 0 || samples.length === 0) return samples.map(() => []);
    try {
      return await call("scores", { definitions, samples }, { key: orgId, lane: "scores" }, scoresMs);
    } catch (error) {
      if (!(error instanceof LimitExceeded)) throw error;
      // Bisects the batch to find the sample and evaluator that exceeded the limit.
      const [middle, half] = [samples.length >> 1, definitions.length >> 1];
      if (middle > 0) {
        const first = await scoresOf(orgId, definitions, samples.slice(0, middle));
        return [...first, ...(await scoresOf(orgId, definitions, samples.slice(middle)))];
      }
      if (half > 0) {
        const first = await scoresOf(orgId, definitions.slice(0, half), samples);
        const second = await scoresOf(orgId, definitions.slice(half), samples);
        return first.map((outcomes, i) => [...outcomes, ...(second[i] ?? [])]);
      }
      const message = `The evaluator exceeds its work limit for this run. ${error.message}`;
      return [[{ ok: false, code: "evaluator_too_costly", message }]];
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

    flow: (orgId, flow, limits, options) =>
      check("flow", { flow, limits, ...options }, orgId, flowMs, (why) => ({
        valid: false,
        problems: [costlyFlow(why)],
      })),

    answer: (orgId, form, data) =>
      check("answer", { form, data }, orgId, answerMs, (why) => [
        { path: [], message: `Checking this much data against the form takes too long: send less data. ${why}` },
      ]),

    scores: scoresOf,

    schema: (orgId, schema, values) =>
      check("schema", { schema, values }, orgId, flowMs, (why) => ({
        ok: false,
        message: `Checking against this schema takes too long. ${why}`,
      })),

    provider: (orgId, source) =>
      check("provider", source, orgId, PROVIDER_MS, (why) => {
        const loc = ["body", "mcp" in source ? "mcp" : "openapi"];
        return {
          ok: false,
          issues: [{ loc, msg: `Reading this value exceeds the work limit. ${why}`, type: "value_error" }],
        };
      }),

    close: () => pool.close(),
  };
}
