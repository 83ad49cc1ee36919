// Compiles the sources and bundles the workflows into dist/, which is replaced atomically: processes that start
// during a build see the old one or the new one. Concurrent builds run one after the other, and the second has nothing to do.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
const stampFile = join(dist, ".sources");
// bench/ is not there where an image is built.
const SOURCES = ["src", "workflows", "activities", "bench"].filter((folder) => existsSync(join(root, folder)));
const SETTINGS = ["tsconfig.json", "tsconfig.build.json", "package-lock.json", "scripts/build-workflows.mjs"];

/** A digest of everything the build reads. Contents, not times: a checkout that changes nothing builds nothing. */
function sourcesDigest() {
  const files = SOURCES.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .map((name) => join(folder, name))
      .filter((name) => /\.(ts|json)$/.test(name)),
  );
  const hash = createHash("sha256");
  for (const file of [...files.sort(), ...SETTINGS]) hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  return hash.digest("hex");
}

/** Why dist/ has to be built, or undefined when it is that of the present sources. */
export function buildNeeded() {
  if (!existsSync(stampFile)) return "dist/ is missing";
  return readFileSync(stampFile, "utf8") === sourcesDigest() ? undefined : "the sources have changed";
}

/** Builds if needed. With `strict`, sources that do not type-check are refused; otherwise they are built with a warning. */
export async function build({ strict }) {
  const unlock = await lock(join(root, "node_modules/.cache/millrace-build.lock"));
  const fresh = join(root, `dist.${process.pid}`);
  const old = `${fresh}.old`;
  try {
    if (buildNeeded() === undefined) return;
    const digest = sourcesDigest();
    const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
    const types = spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", fresh], {
      cwd: root,
      stdio: "inherit",
    });
    if (types.status !== 0 && strict) throw new Error("The sources do not type-check; dist/ is as it was.");
    if (types.status !== 0) console.error("The sources do not type-check (above); built nevertheless.");
    const bundle = spawnSync(process.execPath, [join(root, "scripts/build-workflows.mjs"), fresh], {
      cwd: root,
      stdio: "inherit",
    });
    if (bundle.status !== 0) throw new Error("The workflows could not be bundled; dist/ is as it was.");
    writeFileSync(join(fresh, ".sources"), digest);
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
    unlock();
  }
}

async function lock(file) {
  mkdirSync(dirname(file), { recursive: true });
  for (let waited = 0; ; waited += 200) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const owner = Number(existsSync(file) ? readFileSync(file, "utf8") : "");
    if (owner > 0 && !alive(owner)) rmSync(file, { force: true });
    if (waited === 2000) console.error(`waiting for another build (process ${owner})`);
    await delay(200);
  }
}

function alive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await build({ strict: true }).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
