// npm run bench:neighbours [-- --only <part of an attack's name>[,<another>] --profile <folder>]: what one organisation notices of another
// that does more than its share; writes the measured rows of bench/neighbours.md, and with --profile a CPU profile of the api. Each attack
// has its own servers and processes, and a limited time. All on loopback.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { PACKAGE_ROOT } from "../src/dev/package-root.ts";
import { ATTACKS } from "./neighbours-attacks.ts";
import { KINDS, openQuiet, type Kind, type Observed } from "./neighbours-quiet.ts";
import { openTargets, type Noise } from "./neighbours-targets.ts";
import { quantile } from "./measure.ts";
import { openStage } from "./stage.ts";
import { openParty } from "./neighbours-party.ts";

/** How long calls are measured before the attack, how long the attack runs before the next measurement, and how long that takes (ms). */
const QUIET_MS = 8000;
const RAMP_MS = 4000;
const MEASURED_MS = 15_000;
/** Target: at most this many times the quiet p95, and no failure. */
const WANTED = 3;

const { only = "", profile } = parseArgs({ options: { only: { type: "string" }, profile: { type: "string" } } }).values;
const profiled = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
const attacks = ATTACKS.filter(({ name }) => only.split(",").some((part) => name.includes(part)));

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function observe(attack: string): Promise<{ readonly before: Observed; readonly during: Observed }> {
  const stage = await openStage({ durable: false });
  const targets = await openTargets();
  try {
    const [api] = await Promise.all([stage.api({}, profiled), stage.worker()]);
    const quiet = await openQuiet(await openParty(stage, api, "quiet"), targets);
    await quiet.observe(2000);
    const before = await quiet.observe(QUIET_MS);
    const { quick, slow, receiver } = targets;
    const workerData: Noise = {
      attack,
      databaseUrl: stage.databaseUrl,
      apiUrl: api.url,
      targets: { quick, slow, receiver },
    };
    const noise = new Worker(new URL("./neighbours-noise-main.js", import.meta.url), { workerData });
    noise.on("error", (error) => console.error(error));
    await sleep(RAMP_MS);
    const during = await quiet.observe(MEASURED_MS);
    noise.postMessage("over");
    await quiet.close();
    await noise.terminate();
    return { before, during };
  } finally {
    targets.close();
    await stage.close();
  }
}

const share = (observed: Observed, kind: Kind, of: number): number => quantile(observed[kind].times, of);
const times = (one: number, other: number): string => `${(one / other).toFixed(1)} x`;

function cell(before: Observed, during: Observed, kind: Kind): string {
  const { times: ended, failures } = during[kind];
  const [quiet, loud] = [share(before, kind, 0.95), share(during, kind, 0.95)];
  const shown = ended.length === 0 ? "none ended" : `${loud.toFixed(0)} (${times(loud, quiet)})`;
  const kept = loud <= WANTED * quiet && failures.length === 0 ? shown : `**${shown}**`;
  return failures.length === 0 ? kept : `${kept}, ${failures.length} failed`;
}

/** Replaces the rows of a table with these names, and adds the others to its end. */
function withRows(text: string, rows: ReadonlyMap<string, string>): string {
  const lines = text.split("\n");
  for (const [name, row] of rows) {
    const at = lines.findIndex((line) => line.startsWith(`| ${name} `));
    if (at >= 0) lines[at] = row;
    else lines.splice(lines.findLastIndex((line) => line.startsWith("|")) + 1, 0, row);
  }
  return lines.join("\n");
}

const rows = new Map<string, string>();
for (const { name } of attacks) {
  const { before, during } = await observe(name);
  rows.set(name, `| ${name} | ${KINDS.map((kind) => cell(before, during, kind)).join(" | ")} |`);
  console.log(name);
  for (const kind of KINDS) {
    const each = [0.5, 0.9, 0.95].map((of) => {
      const [quiet, loud] = [share(before, kind, of), share(during, kind, of)];
      return `p${100 * of} ${quiet.toFixed(0)} -> ${loud.toFixed(0)} (${times(loud, quiet)})`;
    });
    console.log(`  ${kind}: ${each.join(", ")}; ${during[kind].times.length} calls`);
    for (const failure of new Set(during[kind].failures)) console.log(`    failed: ${failure}`);
  }
}
const file = join(PACKAGE_ROOT, "bench", "neighbours.md");
writeFileSync(file, withRows(readFileSync(file, "utf8"), rows));
