import { link, mkdir, open, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { uuidv7 } from "uuidv7";
import { generateMasterKey, parseMasterKey } from "./seal.ts";

const FILE = "master.key";

/**
 * The keys that seal stored secrets, the current one first: the configured ones, or one in `directory`, which all processes share; the
 * first process that needs a key creates it there. Throws an Error if the file there is not a key.
 */
export async function masterKeys(
  configured: readonly string[] | undefined,
  directory: string | undefined,
): Promise<Buffer[]> {
  if (configured) return parsed(configured, "MILLRACE_MASTER_KEY");
  if (directory === undefined)
    throw new Error("There is no directory for a master key file, and MILLRACE_MASTER_KEY is not set.");
  return parsed([(await keyInFile(directory)) ?? (await makeKey(directory))], join(directory, FILE));
}

/** The keys for processes that only open sealed texts and create no key; undefined if there are none. */
export async function existingMasterKeys(
  configured: readonly string[] | undefined,
  directory: string | undefined,
): Promise<Buffer[] | undefined> {
  if (configured) return parsed(configured, "MILLRACE_MASTER_KEY");
  const text = directory === undefined ? undefined : await keyInFile(directory);
  return text === undefined ? undefined : parsed([text], join(directory ?? "", FILE));
}

function parsed(texts: readonly string[], source: string): Buffer[] {
  return texts.map((text) => {
    const key = parseMasterKey(text.trim());
    if (!key) throw new Error(`${source} does not contain a master key (base64 of 32 bytes).`);
    return key;
  });
}

async function keyInFile(directory: string): Promise<string | undefined> {
  return readFile(join(directory, FILE), "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
}

async function makeKey(directory: string): Promise<string> {
  const path = join(directory, FILE);
  await mkdir(directory, { recursive: true });
  const draft = `${path}.${uuidv7()}`;
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(`${generateMasterKey()}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    // A link, unlike a rename, does not replace a key that another process has stored in between.
    await link(draft, path);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    await unlink(draft);
  }
  // The key must survive a power cut, as the secrets that it seals in Postgres do.
  const entries = await open(directory, "r");
  await entries.sync().finally(() => entries.close());
  return readFile(path, "utf8");
}
