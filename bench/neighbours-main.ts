// npm run bench:neighbours [-- <name of an attack> ...]: what one organisation notices of another that does more than its share;
// writes bench/neighbours.md. Each attack has servers and processes of its own, and a time that is bounded. All on loopback.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE_ROOT } from "../src/dev/package-root.ts";
import { ATTACKS } from "./neighbours-attacks.ts";
import type { Attack } from "./neighbours-attacks.ts";
import { KINDS, openQuiet } from "./neighbours-quiet.ts";
import type { Kind, Observed } from "./neighbours-quiet.ts";
import { openTargets } from "./neighbours-targets.ts";
import { quantile } from "./measure.ts";
import { openStage } from "./stage.ts";
import { openParty } from "./neighbours-party.ts";

/** How long the attack is under way before it is measured, and how long that takes (ms). */
const RAMP_MS = 4000;
const MEASURED_MS = 15_000;
/** Wanted: no more than so many times the quiet p95, and no failure. */
const WANTED = 3;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function observe(attack: Attack | null): Promise<Observed> {
  const stage = await openStage({ durable: false });
  const targets = await openTargets();
  try {
    const [api] = await Promise.all([stage.api(), stage.worker()]);
    const quiet = await openQuiet(await openParty(stage, api, "quiet"), targets);
    await quiet.observe(2000);
    const over = new AbortController();
    const noise = attack?.run(await openParty(stage, api, "noisy"), targets, over.signal);
    // What it does fails when the servers stop, and before where there is too much of it.
    noise?.catch(() => undefined);
    if (attack) await sleep(RAMP_MS);
    const observed = await quiet.observe(MEASURED_MS);
    over.abort();
    await quiet.close();
    return observed;
  } finally {
    targets.close();
    await stage.close();
  }
}

const p95 = (observed: Observed, kind: Kind): number => quantile(observed[kind].times, 0.95);

function cell(observed: Observed, quiet: Observed, kind: Kind): string {
  const { times, failures } = observed[kind];
  const ratio = p95(observed, kind) / p95(quiet, kind);
  const shown = times.length === 0 ? "none ended" : `${p95(observed, kind).toFixed(0)} (${ratio.toFixed(1)} x)`;
  const kept = ratio <= WANTED && failures.length === 0 ? shown : `**${shown}**`;
  return failures.length === 0 ? kept : `${kept}, ${failures.length} failed`;
}

const wanted = process.argv.slice(2);
const attacks = ATTACKS.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
const quiet = await observe(null);
const lines = [
  "# Neighbours",
  "",
  "What organisation B notices of organisation A, by `npm run bench:neighbours`: p95 in ms, and how many times its quiet value that is.",
  `Wanted: at most ${WANTED} x, and nothing of B fails. What is not so is bold. One api, one worker, all servers on one machine.`,
  "",
  `| A does | ${KINDS.join(" | ")} |`,
  `| --- |${" ---: |".repeat(KINDS.length)}`,
  `| nothing | ${KINDS.map((kind) => p95(quiet, kind).toFixed(0)).join(" | ")} |`,
];
for (const attack of attacks) {
  const observed = await observe(attack);
  lines.push(`| ${attack.name} | ${KINDS.map((kind) => cell(observed, quiet, kind)).join(" | ")} |`);
  console.log(lines.at(-1));
  for (const kind of KINDS)
    for (const failure of new Set(observed[kind].failures)) console.log(`  ${kind}: ${failure}`);
}
const text = `${lines.join("\n")}\n`;
if (wanted.length === 0) writeFileSync(join(PACKAGE_ROOT, "bench", "neighbours.md"), text);
console.log(text);
