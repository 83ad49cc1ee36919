// Bundles the processes and the workflows and builds the console into dist/, which is replaced atomically: processes that start
// during a build see the old one or the new one. Concurrent builds run one after the other, and the second has nothing to do.
// Service and console are built separately: who changes one of them does not wait for the other.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { lock } from "./lock.mjs";

export const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
const PARTS = {
  service: {
    stamp: ".sources",
    // The build of the image has no bench/.
    folders: ["src", "workflows", "activities", "bench"],
    settings: [
      "tsconfig.json",
      "tsconfig.build.json",
      "package-lock.json",
      "scripts/build-workflows.mjs",
      "scripts/bundle.mjs",
    ],
  },
  web: {
    stamp: "web/.sources",
    folders: ["web", "examples/flows"],
    settings: [
      "package-lock.json",
      "scripts/build-web.mjs",
      "scripts/build-web-public.mjs",
      "scripts/compress.mjs",
      "openapi.json",
      "src/domain/marks.ts",
      "src/domain/flow/io/call-code.ts",
      "src/domain/flow/io/literals.ts",
    ],
  },
};
/** What the build of the web part writes: the published pages, and the console, whose stamp is for both and so comes last. */
const WEB_FOLDERS = ["web-public", "web"];

/** A digest of everything that the build of a part reads. Contents, not times: a checkout that changes nothing builds nothing. */
function sourcesDigest({ folders, settings }) {
  const files = folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true })
        .map((name) => join(folder, name))
        .filter((name) => /\.(tsx?|cjs|json|css|html|svg)$/.test(name) && !name.endsWith(".d.ts")),
    );
  const hash = createHash("sha256");
  for (const file of [...files.sort(), ...settings]) hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  return hash.digest("hex");
}

function isCurrent(part) {
  const stamp = join(dist, part.stamp);
  return existsSync(stamp) && readFileSync(stamp, "utf8") === sourcesDigest(part);
}

/** Why dist/ has to be built; undefined if it was built from the present sources. */
export function buildNeeded() {
  if (!existsSync(join(dist, PARTS.service.stamp))) return "dist/ is missing";
  if (!isCurrent(PARTS.service)) return "the sources have changed";
  return isCurrent(PARTS.web) ? undefined : "the console's sources have changed";
}

/** Builds if needed. With `strict`, throws where types are wrong; otherwise only `npm run types` checks them. */
export async function build({ strict }) {
  const unlock = await lock(join(root, "node_modules/.cache/millrace-build.lock"), "another build");
  const fresh = join(root, `dist.${process.pid}`);
  const old = `${fresh}.old`;
  try {
    if (buildNeeded() === undefined) return;
    if (isCurrent(PARTS.service)) {
      buildWeb(fresh);
      for (const folder of WEB_FOLDERS) {
        replace(join(dist, folder), join(fresh, folder), old);
        rmSync(old, { recursive: true, force: true });
      }
      return;
    }
    buildService(fresh, strict);
    if (!isCurrent(PARTS.web)) buildWeb(fresh);
    else for (const folder of WEB_FOLDERS) cpSync(join(dist, folder), join(fresh, folder), { recursive: true });
    replace(dist, fresh, old);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
    unlock();
  }
}

function buildService(fresh, strict) {
  const digest = sourcesDigest(PARTS.service);
  const compiled = `${fresh}.compiled`;
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  try {
    // Without the check a build takes a quarter of the time.
    const types = run([tsc, "-p", "tsconfig.build.json", "--outDir", compiled, ...(strict ? [] : ["--noCheck"])]);
    if (types !== 0 && strict) throw new Error("The sources do not type-check; dist/ is unchanged.");
    if (types !== 0) console.error("The sources could not be read completely (above); built nevertheless.");
    if (run([join(root, "scripts/bundle.mjs"), fresh]) !== 0)
      throw new Error("Could not bundle the processes; dist/ is unchanged.");
    // Processes load this file by its path, so no bundle has it.
    const converter = "workflows/failure-converter.cjs";
    cpSync(join(root, converter), join(fresh, converter));
    const bundled = join(fresh, "workflow-bundle.js");
    if (run([join(root, "scripts/build-workflows.mjs"), compiled, join(root, converter), bundled]) !== 0)
      throw new Error("Could not bundle the workflows; dist/ is unchanged.");
  } finally {
    rmSync(compiled, { recursive: true, force: true });
  }
  writeFileSync(join(fresh, PARTS.service.stamp), digest);
}

function buildWeb(fresh) {
  const digest = sourcesDigest(PARTS.web);
  if (run([join(root, "scripts/build-web.mjs"), join(fresh, "web")]) !== 0)
    throw new Error("Could not build the console; dist/ is unchanged.");
  if (run([join(root, "scripts/build-web-public.mjs"), join(fresh, "web-public")]) !== 0)
    throw new Error("Could not build the published pages; dist/ is unchanged.");
  for (const folder of WEB_FOLDERS) writeFileSync(join(fresh, folder, ".sources"), digest);
}

const run = (args) => spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status;

function replace(folder, fresh, old) {
  if (existsSync(folder)) renameSync(folder, old);
  renameSync(fresh, folder);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await build({ strict: true }).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
