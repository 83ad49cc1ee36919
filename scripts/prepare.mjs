// Runs before start, test, check and the service processes: installs and builds what a fresh clone or a pull left to
// do, and takes some milliseconds when nothing is. Plain Node, because nothing may be installed yet.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { lock } from "./lock.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const OLDEST_NODE = [20, 19];

/** Throws an Error with a message for people when something cannot be done. */
export async function prepare() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    throw new Error(
      `Millrace needs Node ${OLDEST_NODE.join(".")} or later; this is ${process.versions.node} (${process.execPath}).`,
    );
  }
  if (installNeeded() !== undefined) {
    // Outside of node_modules, which an installation removes. Two commands at once in a fresh clone are no mistake.
    const unlock = await lock(join(root, ".millrace/install.lock"), "another installation");
    try {
      const reason = installNeeded();
      if (reason !== undefined) install(reason);
    } finally {
      unlock();
    }
  }
  // Only now: the build reads the installed packages.
  const { build, buildNeeded } = await import("./build.mjs");
  const reason = buildNeeded();
  if (reason !== undefined) {
    step(`Building: ${reason}.`);
    const since = Date.now();
    await build({ strict: false });
    step(`Built in ${seconds(since)}.`);
  }
}

function install(reason) {
  step(`Installing packages: ${reason}.`);
  const since = Date.now();
  // The npm that runs us, when one does. Development packages too: the compiler is one.
  const npm = process.env.npm_execpath?.endsWith("npm-cli.js") ? [process.execPath, process.env.npm_execpath] : ["npm"];
  const args = [...npm.slice(1), "ci", "--include=dev", "--no-audit", "--no-fund"];
  const result = spawnSync(npm[0], args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (result.status !== 0)
    throw new Error(`npm ci failed${result.error ? ` (${result.error.message})` : ""}. Its messages are above.`);
  step(`Packages installed in ${seconds(since)}.`);
}

/** Why packages must be installed, or undefined. Compares what is installed with the lock file, package by package. */
function installNeeded() {
  const installedFile = join(root, "node_modules/.package-lock.json");
  if (!existsSync(installedFile)) return "node_modules is missing";
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  const installed = JSON.parse(readFileSync(installedFile, "utf8")).packages;
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === "") continue;
    const present = installed[path];
    // Optional packages of other platforms are never installed.
    if (present === undefined && (entry.optional || entry.devOptional)) continue;
    const name = path.replace(/^.*node_modules\//, "");
    if (present === undefined) return `${name} is in package-lock.json and not installed`;
    if (present.version !== entry.version)
      return `${name} is ${present.version}, package-lock.json has ${entry.version}`;
  }
  return undefined;
}

// Standard output belongs to the command that runs afterwards (its JSON may be piped on).
const step = (line) => process.stderr.write(`${line}\n`);
const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await prepare().catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
