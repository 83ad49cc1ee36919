import { parseExactJson } from "../../domain/exact-json.ts";
import { randomUUID } from "node:crypto";
import {
  EvaluatorError,
  requireCompleted,
  requireExpected,
  requireOutput,
  textOf,
  type EvalSample,
  type Subject,
} from "../../domain/evals/evaluators/kind.ts";
import { failureOf, subjectOf, type EvaluatorDefinition, type Outcome } from "../../domain/evals/evaluator.ts";
import { requireFinding } from "../../domain/evals/score-result.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { signWebhook } from "../../domain/webhooks/webhook-signature.ts";
import { EmbeddingError } from "../../platform/embeddings/types.ts";
import { FetchFailed, FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import type { GuardedFetch } from "../../platform/fetch/guarded-fetch.ts";
import { redactSecrets } from "../../platform/logging/redaction.ts";
import type { Sandbox } from "../../platform/sandbox/sandbox.ts";
import type { EmbedderSource } from "../knowledge/deps.ts";

/** Longest response of a webhook (bytes). */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Measures how similar the outputs of samples are to the expected ones. */
export async function similarities(
  embedders: EmbedderSource,
  orgId: string,
  definition: EvaluatorDefinition<"similarity">,
  samples: readonly EvalSample[],
  signal: AbortSignal | undefined,
): Promise<Outcome[]> {
  const { embedding_model, value } = definition.config;
  const pairs = samples.map((sample) => {
    try {
      const subject = subjectOf(definition, sample);
      return [textOf(requireOutput(subject)), textOf(requireExpected(subject, value))] as const;
    } catch (error) {
      return failureOf(error);
    }
  });
  const texts = [...new Set(pairs.flatMap((pair) => ("ok" in pair ? [] : pair)))];
  try {
    const found = await embedders.find(orgId, embedding_model);
    if ("no" in found) throw new EvaluatorError("embedding_model_not_available", found.no);
    const vectors =
      texts.length === 0 ? [] : await found.embedder.embed(texts, "passage", signal === undefined ? {} : { signal });
    const byText = new Map(texts.map((text, i) => [text, vectors[i]]));
    return pairs.map((pair) => {
      if ("ok" in pair) return pair;
      const [a, b] = pair.map((text) => byText.get(text));
      // The vectors have length 1, so the dot product is the cosine.
      const cosine = a?.reduce((sum, x, i) => sum + x * (b?.[i] ?? 0), 0) ?? 0;
      return { ok: true, finding: { value: Math.max(-1, Math.min(1, cosine)) } };
    });
  } catch (error) {
    if (!(error instanceof EmbeddingError || error instanceof EvaluatorError)) throw error;
    const outcome = error instanceof EvaluatorError ? failureOf(error) : failed("embedding_failed", error);
    return pairs.map((pair) => ("ok" in pair ? pair : outcome));
  }
}

function failed(code: string, error: Error): Outcome {
  return failureOf(new EvaluatorError(code, redactSecrets(error.message), { cause: error }));
}

/** The sample as judges, code and webhooks see it. */
export function tellable({ sample, output = null, expected = null }: Subject): JsonObject {
  const { run_id, state, inputs, outputs, expected_outputs, metadata, latency_ms, cost_usd, usage, error } = sample;
  const { nodes, passages } = sample.detail ?? { nodes: {}, passages: [] };
  const common = { run_id, state, inputs, output, outputs, expected, expected_outputs, metadata };
  // The cast is safe: these values contain only JSON, which their types cannot express.
  const found = { nodes, passages, citations: sample.citations } as unknown as JsonObject;
  return { ...common, ...found, usage, latency_ms, cost_usd, error };
}

/** Throws if there is nothing to score: the run has not completed, and the evaluator does not score failed runs. */
function subjectFor(definition: EvaluatorDefinition<"code" | "webhook">, sample: EvalSample): Subject {
  if (!definition.config.failed_runs) requireCompleted(sample);
  return subjectOf(definition, sample);
}

/** Scores a sample by code of a user, in the sandbox. */
export async function scoreByCode(
  sandbox: Sandbox,
  orgId: string,
  definition: EvaluatorDefinition<"code">,
  sample: EvalSample,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const { source, timeout_ms } = definition.config;
  return await scored(definition, async () => {
    const args = tellable(subjectFor(definition, sample));
    const { value } = await sandbox.run({ orgId, source, args, timeoutMs: timeout_ms, ...(signal ? { signal } : {}) });
    return value;
  });
}

/** Scores a sample with a POST to a service, signed like webhook deliveries. */
export async function scoreByWebhook(
  { guardedFetch, version }: { readonly guardedFetch: Pick<GuardedFetch, "fetch">; readonly version: string },
  definition: EvaluatorDefinition<"webhook">,
  secret: string,
  sample: EvalSample,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const { url, timeout_ms } = definition.config;
  return await scored(definition, async () => {
    const body = JSON.stringify(tellable(subjectFor(definition, sample)));
    const message = { id: `msg_${randomUUID()}`, timestamp: Math.floor(Date.now() / 1000), body };
    const answer = await guardedFetch.fetch({
      url,
      method: "POST",
      body,
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        "user-agent": `Millrace/${version} (evals)`,
        "webhook-id": message.id,
        "webhook-timestamp": String(message.timestamp),
        "webhook-signature": signWebhook(message, [secret]),
      },
      // A redirect must not decide where samples go.
      redirects: 0,
      limits: { responseBytes: MAX_ANSWER_BYTES, headersMs: timeout_ms, bodyMs: timeout_ms, totalMs: timeout_ms },
      ...(signal ? { signal } : {}),
    });
    if (answer.status < 200 || answer.status > 299)
      throw new EvaluatorError("webhook_failed", `The service returned status ${answer.status}.`);
    return parsed(answer.body);
  });
}

/** The outcome of scoring by something outside of Millrace, which may fail. */
async function scored(definition: EvaluatorDefinition, work: () => Promise<Json>): Promise<Outcome> {
  try {
    return { ok: true, finding: requireFinding(definition.score.data_type, await work()) };
  } catch (error) {
    if (error instanceof FetchRefused || error instanceof FetchFailed || error instanceof NodeFailure)
      return failed(error.code, error);
    if (error instanceof EvaluatorError) return failureOf(error);
    throw error;
  }
}

function parsed(body: Buffer): Json {
  try {
    return parseExactJson(body.toString("utf8"));
  } catch (error) {
    throw new EvaluatorError("webhook_failed", "The service's response is not valid JSON.", { cause: error });
  }
}
