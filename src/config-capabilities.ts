import { delays, httpAddress, int, someText } from "./config-values.ts";
import { DEFAULT_WEBHOOK_SCHEDULE_MS } from "./domain/webhooks/webhook.ts";

const DAY_MS = 86_400_000;

/** The endpoint of models. */
export const modelSettings = {
  MILLRACE_MODEL_URL: httpAddress
    .optional()
    .describe(
      "URL of an OpenAI-compatible endpoint up to its version (http://localhost:11434/v1), for model nodes without a connection",
    ),
  MILLRACE_MODEL_KEY: someText.optional().describe("Bearer token for that endpoint"),
  MILLRACE_MODEL: someText.optional().describe("Default model at that endpoint, for nodes that name none"),
  MILLRACE_MODEL_PRICES_FILE: someText
    .optional()
    .describe("JSON file of model prices that override the built-in prices; see models.md"),
};

/** Reading, indexing and searching documents. */
export const knowledgeSettings = {
  MILLRACE_EMBEDDING_MODEL_DIR: someText
    .optional()
    .describe(
      "Folder with the local embedding model's files; unset, the files that `npm run model:fetch` put into ~/.cache",
    ),
  MILLRACE_OCR_DATA_DIR: someText
    .optional()
    .describe("Folder with the language data for OCR; unset, the data of the optional package"),
  MILLRACE_EMBEDDINGS_URL: httpAddress
    .optional()
    .describe(
      "URL of an OpenAI-compatible embeddings endpoint (.../v1/embeddings), for embedding models other than `local`",
    ),
  MILLRACE_EMBEDDINGS_API_KEY: someText.optional().describe("Bearer token for the embeddings endpoint"),
  MILLRACE_EMBEDDINGS_PER_MINUTE: int(1, 1_000_000)
    .optional()
    .describe("Embedding requests per minute and process; unset is unlimited"),
  MILLRACE_EMBEDDINGS_ATTEMPTS: int(1, 10_000)
    .default(100)
    .describe(
      "Attempts to index a document, half a minute apart, before the document fails with `embedding_unavailable`",
    ),
  MILLRACE_RERANK_URL: httpAddress
    .optional()
    .describe(
      "URL of a rerank endpoint compatible with Cohere's and Jina's (.../v1/rerank), for queries of knowledge bases",
    ),
  MILLRACE_RERANK_API_KEY: someText.optional().describe("Bearer token for the rerank endpoint"),
  MILLRACE_RERANK_MODEL: someText.default("rerank-v3.5").describe("Model that reranks"),
  MILLRACE_VECTOR_CACHE_MIB: int(16, 65_536)
    .default(512)
    .describe("Memory in which each process keeps vectors of knowledge bases; words take a quarter of it in addition"),
  MILLRACE_SYNC_MAX_PAGES: int(1, 1_000_000)
    .default(100_000)
    .describe("Maximum number of documents that the sources of one knowledge base may list"),
  MILLRACE_SITE_DELAY_MS: int(0, 60_000)
    .default(250)
    .describe("Time between two requests of a sync to one site, unless its robots.txt asks for more"),
};

/** The delivery of events. */
export const webhookSettings = {
  MILLRACE_WEBHOOK_SCHEDULE_MS: delays
    .default([...DEFAULT_WEBHOOK_SCHEDULE_MS])
    .describe("Delays before each attempt of a webhook delivery, counted from the previous failure"),
  MILLRACE_WEBHOOK_TIMEOUT_MS: int(10, 120_000)
    .default(15_000)
    .describe("Time within which a webhook's receiver must respond"),
  MILLRACE_WEBHOOK_CONCURRENCY: int(1, 1000).default(20).describe("Concurrent deliveries per worker to one webhook"),
  MILLRACE_WEBHOOK_SLOTS: int(2, 10_000)
    .default(400)
    .describe("Concurrent webhook deliveries per worker; one organisation, and failing webhooks, get at most half"),
  MILLRACE_WEBHOOK_SHARDS: int(1, 64)
    .default(4)
    .describe("Shards into which deliveries are divided by webhook; one worker at a time delivers a shard"),
  MILLRACE_WEBHOOK_POLL_MS: int(2000, 60_000)
    .default(5000)
    .describe("Interval at which a worker polls for events and deliveries if no notification arrives"),
  MILLRACE_WEBHOOK_SECRET_GRACE_MS: int(0, 30 * DAY_MS)
    .default(DAY_MS)
    .describe("Time after a rotation during which deliveries are also signed with the old secret"),
  MILLRACE_WEBHOOK_DISABLE_AFTER_MS: int(0, 30 * DAY_MS)
    .default(DAY_MS)
    .describe("A webhook is disabled when every attempt has failed for this long,"),
  MILLRACE_WEBHOOK_DISABLE_ATTEMPTS: int(1, 100_000).default(20).describe("and there were at least this many attempts"),
  MILLRACE_EVENT_RETENTION_MS: int(1000, 365 * DAY_MS)
    .default(30 * DAY_MS)
    .describe("How long events and their deliveries are kept for replays"),
};
