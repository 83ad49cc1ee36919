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
  const old = nodeTooOld();
  if (old !== undefined) throw new Error(`Millrace needs ${old}.`);
  if (missingPackages() !== undefined) {
    // Outside of node_modules, which an installation removes. Two commands at once in a fresh clone are no mistake.
    const unlock = await lock(join(root, ".millrace/install.lock"), "another installation");
    try {
      const reason = missingPackages();
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

/** Whether a command line only asks: for help, the version, or what is not in order. */
export function onlyAsks(args) {
  // Options after a command belong to the command: `run --version 2` is a flow's version.
  return ["--version", "-V", "help", "doctor"].includes(args[0]) || args.includes("--help") || args.includes("-h");
}

/** Answers such a command line. Returns the exit code; undefined where the built command line can answer. */
export async function answerUnprepared(args) {
  const packages = missingPackages();
  const built = existsSync(join(root, "dist/src/cli-main.js"));
  if (built && packages === undefined) {
    const { buildNeeded } = await import("./build.mjs");
    const reason = args[0] === "doctor" ? buildNeeded() : undefined;
    if (reason !== undefined) step(`This is an older build: ${reason}. Any other command builds first.`);
    return undefined;
  }
  const { version, description } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  if (args[0] === "--version" || args[0] === "-V") {
    console.log(version);
    return 0;
  }
  if (args[0] !== "doctor" || args.includes("--help") || args.includes("-h")) {
    console.log(`Usage: millrace [options] [command]

${description}

Millrace is not installed here yet, and the list of commands comes with the installation (1.2 GB, some minutes):
  npm start                     installs, builds, and starts everything on this machine
  node scripts/prepare.mjs      only installs and builds

README.md and docs/ have every command with an example.`);
    return 0;
  }
  const findings = [
    ["Node", nodeTooOld(), "Install it."],
    ["Packages", packages, "Run `node scripts/prepare.mjs`, which installs and builds."],
    ["Build", built ? undefined : "dist/ is missing", "Run `node scripts/prepare.mjs`, which installs and builds."],
  ].flatMap(([part, text, advice]) => (text === undefined ? [] : [{ part, state: "problem", text, advice }]));
  if (args.includes("--json")) console.log(JSON.stringify({ version, healthy: false, findings }, null, 2));
  else {
    console.log(`Millrace ${version}, not installed or built; nothing else could be examined`);
    for (const { part, text, advice } of findings) console.log(`PROBLEM  ${part}  ${text}\n         → ${advice}`);
  }
  return 1;
}

function nodeTooOld() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  return major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])
    ? `Node ${OLDEST_NODE.join(".")} or later; this is ${process.versions.node} (${process.execPath})`
    : undefined;
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
function missingPackages() {
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
    if (present === undefined) return `${name} is in package-lock.json but not installed`;
    if (present.version !== entry.version)
      return `${name} is ${present.version}, but package-lock.json has ${entry.version}`;
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
