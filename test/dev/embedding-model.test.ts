import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fetchModel } from "../../src/dev/embedding-model.ts";
import { findModel } from "../../src/platform/embeddings/model-files.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { scratchDirectory } from "../support/scratch.ts";

const model = await findModel();
let target: HttpTarget;
beforeAll(async () => {
  target = await startHttpTarget();
});
afterAll(() => target.close());

const said: string[] = [];
const fetchInto = (cacheDir: string, more: Partial<Parameters<typeof fetchModel>[0]> = {}) =>
  fetchModel({ say: (line) => said.push(line), cacheDir, source: target.url, searchPath: "/nowhere", ...more });

describe("the local embedding model's files", () => {
  it("are not downloaded if a folder is configured", async () => {
    const found = await fetchInto(join(scratchDirectory(), "model"), { configured: "/nowhere" });
    expect(found).toEqual({ no: "/nowhere/model.onnx is missing" });
    expect(target.requests).toEqual([]);
  });

  it("model-file: are rejected unless their checksums match, with the result of every source", async () => {
    const parent = scratchDirectory();
    // The target serves unrelated content at every path, so the checksum differs.
    const found = await fetchInto(join(parent, "model"));
    expect(found).toMatchObject({ no: expect.stringMatching(/SHA-256 differs[\s\S]*mvn is not on PATH/) });
    expect(readdirSync(parent)).toEqual([]);
    expect(said.join("\n")).toContain("24 MB");
    // A file that was replaced in the cache is not loaded either.
    const dir = join(parent, "model");
    mkdirSync(dir);
    for (const name of ["model.onnx", "tokenizer.json"]) writeFileSync(join(dir, name), "{}");
    expect(await findModel(dir)).toMatchObject({ no: expect.stringContaining("SHA-256 differs") });
  });

  it.runIf("dir" in model)("are loaded from the cache, or downloaded into it", async () => {
    const dir = "dir" in model ? model.dir : "";
    const paths = { "/onnx/model_quantized.onnx": "model.onnx", "/tokenizer.json": "tokenizer.json" };
    for (const [path, name] of Object.entries(paths))
      target.on(path, (_, response) => void response.end(readFileSync(join(dir, name))));
    const cacheDir = join(scratchDirectory(), "model");
    expect(await fetchInto(cacheDir)).toEqual({ dir: cacheDir });
    const before = target.requests.length;
    expect(await fetchInto(cacheDir)).toEqual({ dir: cacheDir });
    expect(target.requests).toHaveLength(before);
    copyFileSync(join(dir, "model.onnx"), join(cacheDir, "tokenizer.json"));
    expect(await fetchInto(cacheDir)).toEqual({ dir: cacheDir });
  });
});
