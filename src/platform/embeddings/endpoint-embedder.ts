import { z } from "zod";
import { normalizeVector } from "../../domain/knowledge/halves.ts";
import { createLimit } from "../at-once.ts";
import type { GuardedFetch } from "../fetch/guarded-fetch.ts";
import { callModel, inOrder, type ModelEndpoint } from "./model-call.ts";
import type { Embedder } from "./types.ts";

/** Texts and characters per request, unless a single text is longer. */
const BATCH_TEXTS = 96;
const BATCH_CHARS = 100_000;

export interface EndpointEmbedderOptions {
  readonly model: string;
  /** Concurrent requests of all callers together. Default 4. */
  readonly concurrency?: number;
  /** Requests started per minute; unset means unlimited. */
  readonly requestsPerMinute?: number | undefined;
}

const answerSchema = z.object({
  data: z.array(z.object({ index: z.int().min(0), embedding: z.array(z.number()).min(1).max(16_000) })),
});

/**
 * Embeddings by an OpenAI-compatible endpoint: `url` is the address that ends in `/embeddings`. Requests are queued within the limits, and
 * temporary failures are retried.
 */
export function createEndpointEmbedder(
  fetch: Pick<GuardedFetch, "fetch">,
  endpoint: ModelEndpoint,
  options: EndpointEmbedderOptions,
): Embedder {
  const paced = createPaced(options.concurrency ?? 4, options.requestsPerMinute);

  const embedBatch = async (input: readonly string[], signal: AbortSignal | undefined): Promise<Float32Array[]> => {
    const body = { model: options.model, input, encoding_format: "float" };
    const answer = await paced(() => callModel(fetch, endpoint, body, { signal }), signal);
    const { data = [] } = answerSchema.safeParse(answer).data ?? {};
    const found = data.map(({ index, embedding }) => [index, embedding] as const);
    return inOrder(endpoint, found, input.length, "one embedding for each text").map(normalizeVector);
  };

  return {
    async embed(texts, _kind, { signal } = {}) {
      return (await Promise.all(splitBatches(texts).map((batch) => embedBatch(batch, signal)))).flat();
    },
  };
}

function splitBatches(texts: readonly string[]): string[][] {
  const batches: string[][] = [];
  let chars = 0;
  for (const text of texts) {
    const last = batches.at(-1);
    if (last === undefined || last.length >= BATCH_TEXTS || chars + text.length > BATCH_CHARS) {
      batches.push([text]);
      chars = text.length;
    } else {
      last.push(text);
      chars += text.length;
    }
  }
  return batches;
}

type Paced = <T>(work: () => Promise<T>, signal: AbortSignal | undefined) => Promise<T>;

function createPaced(concurrency: number, perMinute: number | undefined): Paced {
  const limit = createLimit(concurrency);
  let nextStart = 0;
  return (work, signal) =>
    limit(async () => {
      signal?.throwIfAborted();
      if (perMinute !== undefined) {
        const start = Math.max(Date.now(), nextStart);
        nextStart = start + 60_000 / perMinute;
        if (start > Date.now()) await new Promise((resolve) => setTimeout(resolve, start - Date.now()));
      }
      return await work();
    });
}
