import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A server with the APIs of embedding and reranking models. */
export interface ModelServer {
  /** Like "http://127.0.0.1:40123". */
  readonly url: string;
  /** Inputs of the embedding requests that succeeded, in order. */
  readonly embedded: readonly string[][];
  /** Times of all requests (ms). */
  readonly askedAt: readonly number[];
  /** Returns this status and these headers for the next requests; 0 closes the connection. */
  failNext(times: number, status: number, headers?: Readonly<Record<string, string>>): void;
  close(): Promise<void>;
}

const DIMENSIONS = 64;
/** Synonyms map to the same vector, so embeddings find them and keywords do not. */
const SYNONYMS: Readonly<Record<string, string>> = { automobile: "car", vehicle: "car", physician: "doctor" };

/** A vector for a text, in which each word has its own direction. */
function embedText(text: string): number[] {
  const vector = Array.from({ length: DIMENSIONS }, () => 0.01);
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    let hash = 2_166_136_261;
    for (const char of SYNONYMS[word] ?? word) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16_777_619) >>> 0;
    vector[hash % DIMENSIONS] = (vector[hash % DIMENSIONS] ?? 0) + 1;
  }
  return vector;
}

/**
 * Starts a server on a free port. `/v1/embeddings` works like OpenAI's and `/v1/rerank` like Cohere's; it ranks the
 * longest texts first.
 */
export async function startModelServer(apiKey: string): Promise<ModelServer> {
  const embedded: string[][] = [];
  const askedAt: number[] = [];
  const failures: { readonly status: number; readonly headers: Readonly<Record<string, string>> }[] = [];
  const server = createServer((request, response) => {
    askedAt.push(Date.now());
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const failure = failures.shift();
      if (failure?.status === 0) return void request.socket.destroy();
      const answer = (code: number, body: unknown): void => {
        response.writeHead(code, { "content-type": "application/json", ...failure?.headers }).end(JSON.stringify(body));
      };
      if (failure !== undefined) return answer(failure.status, { error: { message: "as the test wants it" } });
      if (request.headers.authorization !== `Bearer ${apiKey}`) {
        return answer(401, { error: { message: `Incorrect API key provided: ${request.headers.authorization}` } });
      }
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { input: string[]; documents: string[] };
      if (request.url === "/v1/rerank") {
        const results = body.documents.map((text, index) => ({ index, relevance_score: text.length / 10_000 }));
        return answer(200, { results: results.toSorted((a, b) => b.relevance_score - a.relevance_score) });
      }
      embedded.push(body.input);
      // In another order than the request, which the API allows.
      const data = body.input.map((text, index) => ({ object: "embedding", index, embedding: embedText(text) }));
      return answer(200, { object: "list", data: data.toReversed() });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    embedded,
    askedAt,
    failNext(times, status, headers = {}) {
      for (let i = 0; i < times; i += 1) failures.push({ status, headers });
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
