import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { createPlaces } from "../../domain/places.ts";
import { compiledEntry, readableByChild } from "../children/entry.ts";
import { ChildEnded, spawnChild, type Child } from "../children/spawn.ts";
import { findModel, LOCAL_MODEL, type ModelPlace } from "./model-files.ts";
import { EmbeddingError, type EmbedOptions, type Embedder, type EmbeddingKind } from "./types.ts";

/** Longest text in characters: some 5000 tokens, which take seconds. */
const MAX_TEXT = 40_000;
/** Most texts per request to the child, so that a query does not wait long for a document. */
const BATCH = 8;
const START_TIMEOUT_MS = 30_000;
const TIMEOUT_MS = 60_000;
/** The child exits after this time without work, because it holds some 200 MB. */
const IDLE_MS = 5 * 60_000;
const ENTRY = new URL("./child.ts", import.meta.url);
const PACKAGES = ["onnxruntime-node", "onnxruntime-common", "@huggingface/tokenizers"];

export interface LocalEmbedderOptions {
  /** Folder of the model's files. Default: the machine's cache. */
  readonly modelDir?: string | undefined;
}

export interface LocalEmbedder extends Embedder {
  /** Why the model cannot be used here (what is missing, and how to fix it); null if packages and model are available. */
  problem(): Promise<string | null>;
  close(): Promise<void>;
}

/** The local model, in a separate child process that starts with the first text. `close` must be called. */
export function createLocalEmbedder(options: LocalEmbedderOptions = {}): LocalEmbedder {
  const turns = createPlaces(1);
  let child: Promise<Child> | undefined;
  let checked: Promise<ModelPlace> | undefined;
  let closed = false;
  let idle: NodeJS.Timeout | undefined;

  /** A found model is remembered. A missing model is looked for again, because it may have been downloaded meanwhile. */
  const find = async (): Promise<ModelPlace> => {
    checked ??= check(options.modelDir);
    const found = await checked;
    if ("no" in found) checked = undefined;
    return found;
  };

  const start = async (): Promise<Child> => {
    const found = await find();
    if ("no" in found) throw new EmbeddingError("unavailable", found.no);
    const entry = compiledEntry(ENTRY);
    const started = spawnChild({
      entry,
      nodeFlags: ["--allow-addons"],
      addons: true,
      readable: [...readableByChild(entry, PACKAGES), found.dir],
      heapMib: 256,
      dataMib: 2048,
      idleMib: undefined,
      cpuSeconds: 100_000_000,
      maxOutputBytes: 64 * 1024 * 1024,
    });
    const timer = setTimeout(() => started.kill(), START_TIMEOUT_MS);
    try {
      await started.ready;
      const threads = Math.max(1, Math.floor(availableParallelism() / 2));
      await started.request({ header: { load: found.dir, threads }, body: Buffer.alloc(0) });
      return started;
    } catch (error) {
      started.kill();
      throw asEmbeddingError(error);
    } finally {
      clearTimeout(timer);
    }
  };

  const ask = async (texts: readonly string[], kind: EmbeddingKind): Promise<Float32Array[]> => {
    child ??= start();
    const current = await child.catch((error: unknown) => {
      child = undefined;
      throw error;
    });
    const timer = setTimeout(() => current.kill(), TIMEOUT_MS);
    try {
      const body = Buffer.from(JSON.stringify(texts));
      const reply = await current.request({ header: { kind }, body });
      return splitVectors(reply.body, texts.length);
    } catch (error) {
      throw asEmbeddingError(error);
    } finally {
      clearTimeout(timer);
      if (!current.isAlive()) child = undefined;
    }
  };

  /** Waits for its turn. Queries go first, because a caller is waiting for the result. */
  const askInTurn = async (texts: readonly string[], kind: EmbeddingKind, signal: AbortSignal | undefined) => {
    const release = await turns.take("", { rank: kind === "query" ? 0 : 1, signal });
    clearTimeout(idle);
    try {
      if (closed) throw new EmbeddingError("unavailable", "The embedding model is shutting down.");
      return await ask(texts, kind);
    } finally {
      if (!closed) idle = setTimeout(() => void stop(), IDLE_MS).unref();
      release();
    }
  };

  const stop = async (): Promise<void> => {
    const current = await child?.catch(() => undefined);
    child = undefined;
    current?.kill();
    await current?.exited;
  };

  return {
    async embed(texts, kind, { signal }: EmbedOptions = {}) {
      if (texts.some((text) => text.length > MAX_TEXT)) {
        throw new EmbeddingError(
          "refused",
          `Texts of more than ${MAX_TEXT} characters cannot be embedded: choose a smaller chunk_size.`,
        );
      }
      const vectors: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += BATCH)
        vectors.push(...(await askInTurn(texts.slice(at, at + BATCH), kind, signal)));
      return vectors;
    },
    async problem() {
      const found = await find();
      return "no" in found ? found.no : null;
    },
    async close() {
      closed = true;
      clearTimeout(idle);
      await stop();
    },
  };
}

async function check(modelDir: string | undefined): Promise<ModelPlace> {
  const require = createRequire(import.meta.url);
  for (const name of ["onnxruntime-node", "@huggingface/tokenizers"]) {
    try {
      require.resolve(name);
    } catch {
      return { no: `The local embedding model needs the optional package ${name}, which is not installed (npm ci).` };
    }
  }
  const found = await findModel(modelDir);
  if ("dir" in found) return found;
  const help = "run `npm run model:fetch`, or set MILLRACE_EMBEDDING_MODEL_DIR to a folder that contains the files";
  return { no: `The local embedding model is missing: ${found.no}; ${help}.` };
}

function splitVectors(bytes: Buffer, count: number): Float32Array[] {
  const all = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const { dimensions } = LOCAL_MODEL;
  if (all.length !== count * dimensions)
    throw new EmbeddingError("malformed", "The local embedding model returned an unexpected result.");
  return Array.from({ length: count }, (_, i) => all.slice(i * dimensions, (i + 1) * dimensions));
}

function asEmbeddingError(error: unknown): unknown {
  if (!(error instanceof ChildEnded)) return error;
  return new EmbeddingError("unavailable", "The process of the local embedding model has ended.", { cause: error });
}
