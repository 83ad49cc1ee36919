import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** The bundled embedding model: bge-small-en-v1.5 (MIT), quantized to int8, 384 dimensions, 512 tokens. */
export const LOCAL_MODEL = {
  /** Folder within the cache. */
  folder: "bge-small-en-v1.5-int8",
  dimensions: 384,
  /** Files are loaded only if they have these digests. */
  files: [
    { name: "model.onnx", sha256: "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4" },
    { name: "tokenizer.json", sha256: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66" },
  ],
} as const;

/** Folder for the model's files, shared by every checkout on a machine. */
export const modelCacheDir = (): string => join(homedir(), ".cache/millrace/models", LOCAL_MODEL.folder);

/** Why a folder does not hold the model; undefined if it does, byte for byte. */
export async function modelProblem(dir: string): Promise<string | undefined> {
  for (const { name, sha256 } of LOCAL_MODEL.files) {
    const path = join(dir, name);
    const found = await stat(path).catch(() => undefined);
    if (!found?.isFile()) return `${path} is missing`;
    if ((await fileDigest(path)) !== sha256) return `${path} is not the expected file (its SHA-256 differs)`;
  }
  return undefined;
}

/** The folder with the model's files, or why there is none. */
export type ModelPlace = { readonly dir: string } | { readonly no: string };

/** The verified files of the model. With `configured`, only that folder is checked. */
export async function findModel(configured?: string): Promise<ModelPlace> {
  const dir = configured ?? modelCacheDir();
  const problem = await modelProblem(dir);
  return problem === undefined ? { dir } : { no: problem };
}

async function fileDigest(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
