import { randomBytes } from "node:crypto";
import { EvaluatorError, requireOutput, textOf, type EvalSample } from "../../domain/evals/evaluators/kind.ts";
import {
  failureOf,
  isLocal,
  partsOf,
  subjectOf,
  type EvaluatorDefinition,
  type Outcome,
} from "../../domain/evals/evaluator.ts";
import { numberOf, requireFinding, resultOf, type ScoreResult } from "../../domain/evals/score-result.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import type { Scope } from "../../domain/flow/scope.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { eachAtOnce } from "../../platform/at-once.ts";
import type { Sandbox } from "../../platform/sandbox/sandbox.ts";
import { SealBroken } from "../../platform/secrets/seal.ts";
import { secretContext } from "../../stores/secrets/sealed.ts";
import type { EmbedderSource } from "../knowledge/deps.ts";
import { scoreByCode, scoreByWebhook, similarities, tellable } from "./external.ts";
import { NotJudged, addedUp, judge, type JudgeModel } from "./judge.ts";
import type { Parts } from "../parts.ts";

export interface ScorerDeps extends Parts<"guardedFetch" | "secrets" | "version" | "evaluation"> {
  readonly embedders: EmbedderSource;
  readonly sandbox: Sandbox;
  readonly judge: JudgeModel;
}

/** An evaluator to score with. */
export interface ScoringEvaluator {
  readonly evaluator_id: string;
  readonly definition: EvaluatorDefinition;
  /** The sealed secret of a webhook. */
  readonly secret: Buffer | null;
}

/** A score, with its explanation. */
export interface Scored extends ScoreResult {
  readonly usage: JsonObject | null;
  /** The prompt for the judge. */
  readonly rendered_prompt: string | null;
}

export type Scorer = ReturnType<typeof createScorer>;

/** Most samples that are scored together, and their longest total (characters). */
const BATCH = 100;
const BATCH_CHARS = 4_000_000;
/** Most concurrent requests of one evaluator. */
const AT_ONCE = 8;

/** The result of one definition for one sample. */
interface Made {
  readonly outcome: Outcome;
  readonly usage?: JsonObject;
  readonly prompt?: string;
}

export function createScorer(deps: ScorerDeps) {
  return {
    /**
     * The scores of each sample, in the order of the evaluators. Throws only errors that neither the evaluator nor the
     * sample has caused.
     */
    async score(
      orgId: string,
      evaluators: readonly ScoringEvaluator[],
      samples: readonly EvalSample[],
      signal?: AbortSignal,
    ): Promise<Scored[][]> {
      const scoreBatch = scoringFor(deps, orgId, signal);
      const rows: Scored[][] = [];
      for (const batch of batchesOf(samples)) {
        signal?.throwIfAborted();
        rows.push(...(await scoreBatch(evaluators, batch)));
      }
      return rows;
    },
  };
}

/** Returns a function that scores a batch of samples. */
function scoringFor(deps: ScorerDeps, orgId: string, signal: AbortSignal | undefined) {
  /** The results of one definition for all samples; the definition is an evaluator's or part of a composite. */
  async function byCalling(
    definition: EvaluatorDefinition,
    { evaluator_id, secret }: ScoringEvaluator,
    samples: readonly EvalSample[],
  ): Promise<Made[]> {
    switch (definition.type) {
      case "similarity": {
        const outcomes = await similarities(deps.embedders, orgId, definition, samples, signal);
        return outcomes.map((outcome) => ({ outcome }));
      }
      case "code":
        return await eachAtOnce(samples, AT_ONCE, async (sample) => ({
          outcome: await scoreByCode(deps.sandbox, orgId, definition, sample, signal),
        }));
      case "webhook": {
        const opened = openSecret(evaluator_id, secret);
        return await eachAtOnce(samples, AT_ONCE, async (sample) => ({
          outcome: typeof opened === "string" ? await scoreByWebhook(deps, definition, opened, sample, signal) : opened,
        }));
      }
      case "llm_judge":
        return await eachAtOnce(samples, AT_ONCE, (sample) => judged(definition, sample));
      default:
        throw new Error(`${definition.type} does not score by calling a service`);
    }
  }

  function openSecret(evaluatorId: string, secret: Buffer | null): string | Outcome {
    try {
      return secret === null ? "whsec_" : deps.secrets.open(secret, secretContext("evaluators", evaluatorId, "secret"));
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      return {
        ok: false,
        code: "secret_unreadable",
        message: "The evaluator's secret cannot be decrypted with the configured master key.",
      };
    }
  }

  async function judged(definition: EvaluatorDefinition<"llm_judge">, sample: EvalSample): Promise<Made> {
    let prompt: string | undefined;
    try {
      const { prompt: source } = definition.config;
      const subject = subjectOf(definition, sample);
      const output = requireOutput(subject);
      // Random, so that no output can pose as another section of the prompt.
      const fence = randomBytes(8).toString("hex");
      // Spelled out, because templates treat null like an absent value.
      const expected = subject.expected === null ? "null" : (subject.expected ?? null);
      const told = tellable(subject);
      const scope = scopeOf(sample, { ...sample.detail?.nodes, ...told, output, expected, fence });
      const [rendered] = await deps.evaluation.sources(orgId, [{ language: "liquid", source }], scope);
      prompt = textOf(rendered ?? "");
      const call = { org_id: orgId, prompt, fence, sample: told, signal };
      const { finding, usage } = await judge(deps.judge, definition, call);
      return { outcome: { ok: true, finding }, usage, prompt };
    } catch (error) {
      const outcome = refusalOf(error);
      const usage = error instanceof NotJudged ? { usage: error.usage } : {};
      return prompt === undefined ? { outcome } : { outcome, prompt, ...usage };
    }
  }

  async function composed(
    definition: EvaluatorDefinition<"composite">,
    sample: EvalSample,
    results: readonly ScoreResult[],
  ): Promise<Outcome> {
    const { parts, expression } = definition.config;
    const broken = results.findIndex(({ error }) => error !== null);
    if (broken !== -1) {
      const { code, message } = results[broken]?.error ?? { code: "", message: "" };
      return { ok: false, code, message: `Part ${parts[broken]?.name}: ${message}` };
    }
    if (expression === undefined) {
      const counted = results.map((result) => Number(result.passed ?? numberOf(result) ?? 0));
      const weights = parts.map(({ weight }) => weight);
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const value = counted.reduce((sum, count, i) => sum + count * (weights[i] ?? 0), 0) / (total || 1);
      return { ok: true, finding: { value: definition.score.data_type === "boolean" ? value >= 1 : value } };
    }
    const nodes = Object.fromEntries(
      parts.map(({ name }, i) => {
        const { value = null, passed = null, label = null } = results[i] ?? {};
        return [name, { value, passed, label }] as const;
      }),
    );
    try {
      const source = { language: "cel", source: expression } as const;
      const [value] = await deps.evaluation.sources(orgId, [source], scopeOf(sample, nodes));
      return { ok: true, finding: requireFinding(definition.score.data_type, value) };
    } catch (error) {
      return refusalOf(error);
    }
  }

  return async (evaluators: readonly ScoringEvaluator[], samples: readonly EvalSample[]): Promise<Scored[][]> => {
    // Parts of composites are scored like evaluators.
    const leaves = evaluators.flatMap((evaluator) =>
      partsOf(evaluator.definition).map((definition) => ({ definition, evaluator })),
    );
    const local = leaves.filter(({ definition }) => isLocal(definition.type));
    const definitions = local.map(({ definition }) => definition);
    const short = samples.map(({ detail: _detail, ...sample }) => sample);
    const outcomes = await deps.evaluation.scores(orgId, definitions, short);
    const made: Made[][] = [];
    for (const leaf of leaves) {
      const place = local.indexOf(leaf);
      made.push(
        place === -1
          ? await byCalling(leaf.definition, leaf.evaluator, samples)
          : outcomes.map((ofSample) => ({ outcome: ofSample[place] ?? failureOf(undefined) })),
      );
    }
    const rows: Scored[][] = samples.map(() => []);
    let at = 0;
    for (const { definition } of evaluators) {
      const ofLeaves = made.slice(at, (at += partsOf(definition).length));
      for (const [index, sample] of samples.entries()) {
        const [first] = ofLeaves;
        let one = first?.[index];
        if (definition.type === "composite") {
          const { parts } = definition.config;
          const results = parts.map((part, i) => resultOf(part, ofLeaves[i]?.[index]?.outcome ?? failureOf(undefined)));
          const usage = addedUp(ofLeaves.map((ofLeaf) => ofLeaf[index]?.usage).filter((each) => each !== undefined));
          one = { outcome: await composed(definition, sample, results), ...(usage ? { usage } : {}) };
        }
        const { outcome, usage = null, prompt = null } = one ?? { outcome: failureOf(undefined) };
        rows[index]?.push({ ...resultOf(definition, outcome), usage, rendered_prompt: prompt });
      }
    }
    return rows;
  };
}

/** The outcome of an evaluator that cannot score a sample. Throws any other error. */
function refusalOf(error: unknown): Outcome {
  if (!(error instanceof EvaluatorError || error instanceof NodeFailure)) throw error;
  return { ok: false, code: error.code, message: error.message };
}

/** Whether an evaluator reads the whole sample: a judge, code or a webhook. */
export function readsWholeSample(definition: EvaluatorDefinition): boolean {
  return partsOf(definition).some(({ type }) => type === "llm_judge" || type === "code" || type === "webhook");
}

function scopeOf({ run_id, inputs, metadata }: EvalSample, nodes: Readonly<Record<string, Json>>): Scope {
  return { nodes, inputs, run: { id: run_id ?? "", user_id: null, metadata } };
}

function* batchesOf(samples: readonly EvalSample[]): Generator<EvalSample[]> {
  let batch: EvalSample[] = [];
  let chars = 0;
  for (const sample of samples) {
    const size = JSON.stringify(sample).length;
    if (batch.length >= BATCH || (batch.length > 0 && chars + size > BATCH_CHARS)) {
      yield batch;
      batch = [];
      chars = 0;
    }
    batch.push(sample);
    chars += size;
  }
  if (batch.length > 0) yield batch;
}
