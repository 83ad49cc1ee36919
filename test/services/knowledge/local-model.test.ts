import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { createLocalEmbedder } from "../../../src/platform/embeddings/local-embedder.ts";
import { findModel, LOCAL_MODEL, modelCacheDir } from "../../../src/platform/embeddings/model-files.ts";
import { addResource, ask, buildBase, ownKnowledge, type BuiltBase } from "./knowledge.ts";

const own = ownKnowledge();
// The global setup fetches the model, and reports it if that fails.
const model = await findModel();
const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

it("the local model is found if its files exist; otherwise the tests below are skipped with the reason", () => {
  const isThere = existsSync(join(modelCacheDir(), LOCAL_MODEL.files[0].name));
  expect(isThere ? model : { dir: "" }, JSON.stringify(model)).toHaveProperty("dir");
});

describe.skipIf("no" in model)(`the local embedding model${"no" in model ? `: ${model.no}` : ""}`, () => {
  let base: BuiltBase;

  beforeAll(async () => {
    base = await buildBase(own.database, { model: "local" });
    const add = (path: string, text: string): Promise<string> => addResource(own, base, [text], { path });
    await add("pets", "Puppies should be fed three times a day until they are six months old.");
    await add("cars", "The engine's oil has to be changed every ten thousand kilometres.");
    await add("money", "Interest rates are set by the central bank, four times a year.");
  });

  it("is the default for a new knowledge base and finds by meaning without an API key", async () => {
    expect(await own.knowledge.defaultModel()).toBe("local");
    const query = "How often does a young dog need a meal?";
    const answer = await ask(own, own.knowledge, base, { query, query_strategy: "semantic" });
    expect(answer).toMatchObject({ strategy_used: "semantic" });
    expect(answer.results[0]).toMatchObject({ resource_path: "pets" });
    expect((await ask(own, own.knowledge, base, { query })).strategy_used).toBe("hybrid");
  });

  it("gives a text the same vector in any batch, also beyond 512 tokens", async () => {
    const embedder = createLocalEmbedder();
    try {
      const long = `${"Many words about nothing. ".repeat(300)} At the end a zebra.`;
      const [a, b, zebra] = await embedder.embed(["A short text.", long, "zebra"], "passage");
      const [again] = await embedder.embed(["A short text."], "passage");
      const [asked] = await embedder.embed(["A short text."], "query");
      if (!a || !b || !zebra || !again || !asked) throw new Error("a vector is missing");
      expect(again).toEqual(a);
      expect(dot(a, a)).toBeCloseTo(1, 5);
      expect(a).toHaveLength(384);
      // Queries are embedded with an instruction, so they differ from passages.
      expect(dot(a, asked)).toBeLessThan(0.999);
      const [without] = await embedder.embed(["Many words about nothing. ".repeat(300)], "passage");
      expect(dot(b, zebra)).toBeGreaterThan(dot(without ?? b, zebra));
    } finally {
      await embedder.close();
    }
  });

  it("embeds a query before the rest of a document, and rejects waiting work when it is closed", async () => {
    const embedder = createLocalEmbedder();
    try {
      const first = embedder.embed(
        Array.from({ length: 40 }, (_, i) => `Text ${i} `.repeat(200)),
        "passage",
      );
      const query = embedder.embed(["a question"], "query");
      expect(await query).toHaveLength(1);
      await embedder.close();
      await expect(first).rejects.toMatchObject({ failure: "unavailable" });
    } finally {
      await embedder.close();
    }
  });
});

it("names the missing model file and the setting to fix it", async () => {
  const embedder = createLocalEmbedder({ modelDir: "/nowhere" });
  expect(await embedder.problem()).toMatch(/\/nowhere\/model\.onnx is missing.*MILLRACE_EMBEDDING_MODEL_DIR/);
  await expect(embedder.embed(["x"], "query")).rejects.toMatchObject({ failure: "unavailable" });
});
