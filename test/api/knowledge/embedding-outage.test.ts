import { afterAll, beforeAll, expect, it } from "vitest";
import { startModelServer, type ModelServer } from "../../support/model-server.ts";
import { startService, type OwnService } from "../../support/service.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { create } from "./bases.ts";
import { settled } from "./knowledge-bases.ts";

const API_KEY = "model-key-1";
/** Attempts per call of the embedding model. */
const TRIES = 5;

let models: ModelServer;
let service: OwnService;
let tenant: ApiTenant;
let base: string;
let path: string;

beforeAll(async () => {
  models = await startModelServer(API_KEY);
  service = await startService({
    env: {
      MILLRACE_EMBEDDINGS_URL: `${models.url}/v1/embeddings`,
      MILLRACE_EMBEDDINGS_API_KEY: API_KEY,
      MILLRACE_EMBEDDINGS_ATTEMPTS: "2",
    },
  });
  tenant = await openTenant(service);
  const made = await create(tenant, { indexing_params: { embedding_params: { embedding_model: "test-embedding" } } });
  base = made.body.knowledge_base_id;
  path = `${made.path}/resources`;
});
afterAll(async () => {
  await service.close();
  await models.close();
});

async function add(external_id: string, text: string): Promise<string> {
  const { status, body } = await tenant.secret.post(path, { name: "a.txt", text, external_id });
  expect(status).toBe(202);
  return body.resource_id;
}

async function found(query: string): Promise<string[]> {
  const { body } = await tenant.secret.post(`/v2/knowledge-bases/${base}/query`, { query, query_strategy: "semantic" });
  return body.results.map((result: { text: string }) => result.text);
}

it("waits as long as a busy model asks, and then indexes", async () => {
  models.failNext(1, 429, { "retry-after": "2" });
  const before = models.askedAt.length;
  const { status } = await settled(tenant, base, await add("busy", "The wheel turns slowly."));
  expect(status).toBe("indexed");
  const [first = 0, second = 0] = models.askedAt.slice(before);
  expect(second - first).toBeGreaterThanOrEqual(2000);
  expect(await found("wheel")).toEqual(["The wheel turns slowly."]);
});

it("retries after lost connections and errors, and indexes each text once", async () => {
  models.failNext(1, 0);
  models.failNext(1, 500);
  const resource = await settled(tenant, base, await add("shaky", "The race brings water."));
  expect(resource).toMatchObject({ status: "indexed", chunk_count: 1 });
  expect((await found("water")).filter((text) => text === "The race brings water.")).toHaveLength(1);
});

it("reports a long outage of the model with a code, keeps the text, and indexes it when added again", async () => {
  models.failNext(2 * TRIES, 503);
  const id = await add("away", "The miller sleeps.");
  const failed = await settled(tenant, base, id);
  expect(failed).toMatchObject({
    status: "error",
    error: { code: "embedding_unavailable", message: expect.stringMatching(/503/) },
    text: "The miller sleeps.",
  });
  expect(JSON.stringify(failed)).not.toContain(API_KEY);
  expect(await add("away", "The miller sleeps.")).toBe(id);
  expect(await settled(tenant, base, id)).toMatchObject({ status: "indexed", error: null });
  expect(await found("miller")).toContain("The miller sleeps.");
});

it("reports an error immediately if the model rejects the request", async () => {
  models.failNext(1, 400);
  const failed = await settled(tenant, base, await add("refused", "Something else."));
  expect(failed).toMatchObject({ status: "error", error: { code: "embedding_refused" } });
});

it("indexes only the last text if a document is replaced while it waits for the model", async () => {
  // The retries take seconds, so the first text is still being embedded when the second one arrives.
  const before = models.askedAt.length;
  models.failNext(3, 503);
  const id = await add("replaced", "Barley is ground first.");
  await expect.poll(() => models.askedAt.length).toBeGreaterThan(before);
  expect(await add("replaced", "Wheat is ground first.")).toBe(id);
  expect(await settled(tenant, base, id)).toMatchObject({ status: "indexed", text: "Wheat is ground first." });
  const chunks = await tenant.withDatabase((database) =>
    database.org(tenant.org_id, (db) =>
      db.query<{ text: string }>("select text from knowledge_chunks where resource_id = $1", [id]),
    ),
  );
  expect(chunks).toEqual([{ text: "Wheat is ground first." }]);
  expect(await found("barley")).not.toContain("Barley is ground first.");
});
