import { spawnSync } from "node:child_process";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { whileInstalling } from "./install-lock.ts";
import { isExecutable, runProgram, type Ended } from "./processes.ts";

/** Folder for downloads, shared by every checkout on a machine. */
const CACHE_DIR = join(homedir(), ".cache/millrace");

/** The last version that `go install` can build: later ones carry replace directives. */
const GO_PACKAGE = "github.com/temporalio/cli/cmd/temporal@v1.5.1";
const HEARTBEAT_MS = 15_000;
const DOWNLOAD_TIMEOUT_MS = 180_000;

/** A way to obtain the server program: returns its path, or a sentence that says why not. */
type Answer = { readonly path: string } | { readonly no: string };

export interface FindOptions {
  /** Called with a progress message before slow steps. */
  readonly say: (line: string) => void;
  readonly searchPath?: string;
  readonly cacheDir?: string;
  /** Downloads the program into a folder; returns why it failed, or undefined. Default: the SDK's own downloader. */
  readonly download?: (folder: string) => Promise<string | undefined>;
}

/**
 * Finds the `temporal` program: on PATH, in the cache, by download, or built from source. The last two put it into
 * the cache. Throws an error that names each way and why it failed.
 */
export async function findTemporal(options: FindOptions): Promise<string> {
  const bin = join(options.cacheDir ?? CACHE_DIR, "bin");
  const cached = join(bin, "temporal");
  const searchPath = options.searchPath ?? process.env["PATH"] ?? "";
  const ways: [string, () => Promise<Answer>][] = [
    ["temporal on PATH", () => onPath(searchPath)],
    [cached, () => inCache(cached)],
    ["download with @temporalio/testing", () => installOnce(bin, options.say, () => download(bin, options))],
    [`go install ${GO_PACKAGE}`, () => installOnce(bin, options.say, () => build(bin, searchPath, options.say))],
  ];
  const answers: string[] = [];
  for (const [name, way] of ways) {
    const answer = await way();
    if ("path" in answer) return answer.path;
    answers.push(`  - ${name}: ${answer.no}`);
  }
  throw new Error(
    "No Temporal server found. Sources that were tried:\n" +
      `  - TEMPORAL_ADDRESS: not set\n${answers.join("\n")}\n` +
      "Do one of the following: set TEMPORAL_ADDRESS to a running server, put the temporal CLI on PATH, " +
      "allow the download, or install Go 1.24 or later.",
  );
}

async function onPath(searchPath: string): Promise<Answer> {
  const path = await firstExecutable(searchPath, "temporal");
  if (path === undefined) return { no: "not found" };
  // Another program may have the same name, and an old CLI has no development server.
  const { status, error, stderr } = spawnSync(path, ["server", "start-dev", "--help"], {
    encoding: "utf8",
    timeout: 20_000,
  });
  return status === 0 ? { path } : { no: `${path} has no "server start-dev": ${lastLine(error?.message ?? stderr)}` };
}

async function inCache(file: string): Promise<Answer> {
  return (await isExecutable(file)) ? { path: file } : { no: "not found" };
}

/** Runs one installation at a time per machine; processes that waited use its result. */
async function installOnce(bin: string, say: (line: string) => void, install: () => Promise<Answer>): Promise<Answer> {
  await mkdir(bin, { recursive: true });
  const waiting = heartbeat(say, (seconds) => `  waiting for another process that installs Temporal (${seconds} s)`);
  return whileInstalling(join(bin, ".install.lock"), async () => {
    waiting.stop();
    const cached = await inCache(join(bin, "temporal"));
    return "path" in cached ? cached : await install();
  }).finally(() => waiting.stop());
}

/** Makes the program in a folder of its own and puts it into the cache; `make` returns why it failed, or undefined. */
async function install(
  bin: string,
  say: (line: string) => void,
  doing: "downloading" | "building",
  make: (folder: string) => Promise<string | undefined>,
): Promise<Answer> {
  const folder = join(bin, `${doing}-${process.pid}`);
  await mkdir(folder, { recursive: true });
  const beat = heartbeat(say, (seconds) => `  still ${doing} the Temporal server (${seconds} s)`);
  try {
    const problem = await make(folder);
    const [file] = (await readdir(folder)).filter((name) => name.startsWith("temporal"));
    if (problem !== undefined || file === undefined) return { no: problem ?? "nothing was downloaded" };
    await rename(join(folder, file), join(bin, "temporal"));
    return { path: join(bin, "temporal") };
  } finally {
    beat.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function download(bin: string, { say, download: fetchInto = downloadWithSdk }: FindOptions): Promise<Answer> {
  say("  looking for a Temporal server to download ...");
  return install(bin, say, "downloading", fetchInto);
}

/** Runs the downloader as a separate process, so that a hanging download can be stopped. */
async function downloadWithSdk(folder: string): Promise<string | undefined> {
  const program = fileURLToPath(import.meta.url).replace(/temporal-binary(\.[jt]s)$/, "download-temporal$1");
  return reasonOf(await runProgram(process.execPath, [program, folder], { timeout: DOWNLOAD_TIMEOUT_MS }));
}

async function build(bin: string, searchPath: string, say: (line: string) => void): Promise<Answer> {
  const go = await firstExecutable(searchPath, "go");
  if (go === undefined) return { no: "go is not on PATH" };
  say("  building the Temporal server from source, once: this takes 3 to 4 minutes ...");
  const answer = await install(bin, say, "building", async (folder) => {
    const env = { ...process.env, GOBIN: folder, CGO_ENABLED: "0" };
    return reasonOf(await runProgram(go, ["install", "-ldflags=-s -w", GO_PACKAGE], { env }));
  });
  if ("path" in answer) say("  the Temporal server is built");
  return answer;
}

function heartbeat(say: (line: string) => void, line: (seconds: number) => string): { stop(): void } {
  const since = Date.now();
  const timer = setInterval(() => say(line(Math.round((Date.now() - since) / 1000))), HEARTBEAT_MS);
  return { stop: () => clearInterval(timer) };
}

async function firstExecutable(searchPath: string, name: string): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter).filter((entry) => entry !== "")) {
    if (await isExecutable(join(folder, name))) return join(folder, name);
  }
  return undefined;
}

/** Why a program failed, in its own words if it wrote any. */
function reasonOf({ problem, output }: Ended): string | undefined {
  return problem === undefined ? undefined : lastLine(output) || problem;
}

const lastLine = (text: string): string => text.trim().split("\n").at(-1)?.trim() ?? "";
