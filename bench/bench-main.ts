// npm run bench: Millrace compared with bare Temporal, in one run, on the same servers. Writes bench/results.md.
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { PACKAGE_ROOT } from "../src/dev/package-root.ts";
import { burstBench } from "./burst-bench.ts";
import { chainFlow, httpFlow, inlineFlow, mapFlow, parallelFlow, templateFlow } from "./flows.ts";
import { compare, latencies, median, ratio, throughput, type Measured } from "./measure.ts";
import { listBench } from "./list-bench.ts";
import { openStage, request, residentMib, type Process } from "./stage.ts";
import { webhookBench } from "./webhook-bench.ts";

const PARTS = ["twins", "apart", "chains", "shapes", "bursts", "memory", "workers", "webhooks", "lists", "durable"];
const USAGE = `npm run bench [-- --quick] [-- --only ${PARTS.join(",")}]
--only measures these parts and leaves bench/results.md as it is; --quick measures less often.`;
const { quick, only } = parameters();
const wanted = (part: string): boolean => only?.includes(part) ?? true;
const EFFORT = quick
  ? { rounds: 1, calls: 40, concurrency: 30, load: 150 }
  : { rounds: 5, calls: 50, concurrency: 30, load: 300 };
/** Pairs that are compared with each other. */
const RATIOS = [
  ["inline flow", "bare: empty"],
  ["template flow", "bare: empty"],
  ["http flow", "bare: threeRegular"],
  ["inline flow", "bare: threeLocal"],
  ["template flow", "bare: threeLocal"],
  ["http flow", "bare: threeRequests"],
  ["bare: threeRequests", "bare: threeRegular"],
  ["bare: threeLocalRequests", "bare: threeRegular"],
  ["inline flow", "bare: emptyRecorded"],
  ["bare: emptyRecorded", "bare: empty"],
  ["bare: empty", "bare: threeLocal"],
] as const;
const report: string[] = [];
const say = (line: string): void => {
  console.log(line);
  report.push(line);
};

const target = createServer((request_, response) => {
  const wait = Number(new URL(request_.url ?? "/", "http://x").searchParams.get("ms") ?? 0);
  setTimeout(() => response.setHeader("content-type", "application/json").end('{"ok":true}'), wait);
});
await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
const targetUrl = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;

let stage = await openStage({ durable: false });
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void stage.close().finally(() => process.exit(1)));
try {
  say("# Benchmark\n");
  say(
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0]?.model ?? "?"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}. Medians over ${EFFORT.rounds} rounds, also of the ratios; repeat with \`npm run bench\`.\n`,
  );
  say(
    "Temporal's development server does not wait for the disk at each commit (SQLite with synchronous=1); so that like is compared with like, neither does Postgres (fsync=off), except where it says so.\n",
  );
  await stage.twin("worker");
  const twin = await stage.twin("api", targetUrl);
  if (wanted("twins")) await twins("Beside bare Temporal (the api hosts a worker: the default)", twin, {});
  if (wanted("apart")) {
    await twins("With api and worker strictly apart (MILLRACE_API_WORKER=false)", twin, {
      MILLRACE_API_WORKER: "false",
    });
  }
  if (wanted("chains")) await chains(twin);
  if (wanted("shapes")) await shapes();
  if (wanted("bursts")) for (const line of await burstBench(stage, withService, quick)) say(line);
  if (wanted("memory")) await memory();
  if (wanted("workers")) await workers();
  if (wanted("webhooks")) for (const line of await webhookBench(stage, withService, quick)) say(line);
  if (wanted("lists")) say(await listBench(stage, quick ? 100_000 : 1_000_000));
  if (wanted("durable")) {
    await stage.close();
    stage = await openStage({ durable: true });
    await stage.twin("worker");
    await twins("With a Postgres that waits for the disk at each commit", await stage.twin("api", targetUrl), {});
  }
} finally {
  await stage.close();
  target.close();
}
if (!quick && !only) writeFileSync(join(PACKAGE_ROOT, "bench/results.md"), `${report.join("\n")}\n`);

function parameters(): { readonly quick: boolean; readonly only: readonly string[] | undefined } {
  try {
    const options = { quick: { type: "boolean", default: false }, only: { type: "string" } } as const;
    const { values } = parseArgs({ options });
    const parts = values.only?.split(",");
    const unknown = parts?.filter((part) => !PARTS.includes(part)) ?? [];
    if (unknown.length > 0) throw new TypeError(`Unknown part: ${unknown.join(", ")}`);
    return { quick: values.quick, only: parts };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

async function withService<T>(
  env: Record<string, string>,
  work: (api: Process, worker: Process) => Promise<T>,
): Promise<T> {
  const [api, worker] = await Promise.all([stage.api(env), stage.worker(env)]);
  try {
    return await work(api, worker);
  } finally {
    await Promise.all([api.stop(), worker.stop()]);
  }
}

async function twins(title: string, twin: Process, env: Record<string, string>): Promise<void> {
  await withService(env, async (api) => {
    const deployed = await Promise.all(
      [inlineFlow, templateFlow, httpFlow(targetUrl)].map((flow) => stage.deploy(api, flow)),
    );
    const [inline = "", template = "", http = ""] = deployed;
    const bare = (workflow: string) => ({
      name: `bare: ${workflow}`,
      call: () => request(`${twin.url}/${workflow}`, null),
    });
    const measured = await compare(
      [
        bare("empty"),
        bare("emptyRecorded"),
        { name: "inline flow", call: stage.call(api, inline, { "in-0": "Ada" }) },
        { name: "template flow", call: stage.call(api, template, { "in-0": "Ada" }) },
        bare("threeLocal"),
        bare("threeRegular"),
        { name: "http flow", call: stage.call(api, http, {}) },
        bare("threeRequests"),
        bare("threeLocalRequests"),
      ],
      EFFORT,
    );
    const named = new Map(measured.map((each) => [each.name, each]));
    say(`## ${title}\n`);
    say("| | p50 ms | p95 ms | a second, 30 at once | p50 ratio | throughput ratio | against |");
    say("| --- | ---: | ---: | ---: | ---: | ---: | --- |");
    for (const each of measured) if (each.name.startsWith("bare")) say(row(each));
    for (const [name, against] of RATIOS) {
      const each = named.get(name);
      if (each) say(row(each, named.get(against)));
    }
    say("");
  });
}

function row(each: Measured, against?: Measured): string {
  const ratios = against
    ? `${ratio(each, against, "p50").toFixed(2)} | ${ratio(each, against, "perSecond").toFixed(2)} | ${against.name}`
    : "| |";
  return `| ${each.name} | ${each.p50.toFixed(1)} | ${each.p95.toFixed(1)} | ${each.perSecond.toFixed(1)} | ${ratios} |`;
}

async function chains(twin: Process): Promise<void> {
  say("## Slow nodes in a row\n");
  say("| | p50 ms | p95 ms | a second, 30 at once | p50 ratio | throughput ratio | against |");
  say("| --- | ---: | ---: | ---: | ---: | ---: | --- |");
  for (const [title, MILLRACE_CHAINS] of [
    ["one activity", "true"],
    ["an activity each", "false"],
  ] as const) {
    await withService({ MILLRACE_CHAINS }, async (api) => {
      const ids = await Promise.all([3, 10].map((length) => stage.deploy(api, httpFlow(targetUrl, length))));
      const [three = "", ten = ""] = ids;
      const [bare, ...flows] = await compare(
        [
          { name: "bare: threeRegular", call: () => request(`${twin.url}/threeRegular`, null) },
          { name: "bare: chainedRequests", call: () => request(`${twin.url}/chainedRequests`, null) },
          { name: `3 http nodes, ${title}`, call: stage.call(api, three, {}) },
          { name: `10 http nodes, ${title}`, call: stage.call(api, ten, {}) },
        ],
        EFFORT,
      );
      if (bare) say(row(bare));
      for (const each of flows) say(row(each, bare));
    });
  }
  say("");
}

async function shapes(): Promise<void> {
  await withService({}, async (api) => {
    const ids = await Promise.all(
      [chainFlow(1), chainFlow(48), parallelFlow(20, `${targetUrl}/?ms=200`), mapFlow(1000)].map((flow) =>
        stage.deploy(api, flow),
      ),
    );
    const [three = "", fifty = "", parallel = "", map = ""] = ids;
    const chains = await compare(
      [
        { name: "3 inline nodes", call: stage.call(api, three, { "in-0": "x" }) },
        { name: "50 inline nodes", call: stage.call(api, fifty, { "in-0": "x" }) },
      ],
      { ...EFFORT, load: 30 },
    );
    const [a, b] = chains;
    say("## Shapes\n");
    if (a && b)
      say(
        `- 50 inline nodes against 3: p50 ${b.p50.toFixed(1)} against ${a.p50.toFixed(1)} ms, ratio ${(b.p50 / a.p50).toFixed(2)}`,
      );
    await latencies(stage.call(api, parallel, { "in-0": "x" }), 3);
    say(
      `- 20 parallel http nodes to a server that takes 200 ms: p50 ${median(await latencies(stage.call(api, parallel, { "in-0": "x" }), 10)).toFixed(0)} ms`,
    );
    await latencies(stage.call(api, map, {}), 2);
    say(
      `- map of a template over 1000 items: p50 ${median(await latencies(stage.call(api, map, {}), quick ? 3 : 9)).toFixed(0)} ms\n`,
    );
  });
}

async function memory(): Promise<void> {
  await withService({}, async (api, worker) => {
    const project_id = await stage.deploy(api, templateFlow);
    await delay(3000);
    const rss = () => `api ${residentMib(api.pid).toFixed(0)} MiB, worker ${residentMib(worker.pid).toFixed(0)} MiB`;
    say(`## Memory\n\n- idle: ${rss()}`);
    const call = stage.call(api, project_id, { "in-0": "x" });
    for (const [runs, more] of quick
      ? [[200, 200]]
      : [
          [1000, 1000],
          [5000, 4000],
        ]) {
      await throughput(call, 30, more ?? 0);
      say(`- after ${runs} runs: ${rss()}`);
    }
    say("");
  });
}

async function workers(): Promise<void> {
  say("## Workers\n\n| workers | I/O-bound runs a second | ratio |\n| ---: | ---: | ---: |");
  let one: number | undefined;
  for (const count of [1, 2, 4]) {
    const env = { MILLRACE_WORKER_ACTIVITIES: "8" };
    const api = await stage.api(env);
    const processes = await Promise.all(Array.from({ length: count }, () => stage.worker(env)));
    const id = await stage.deploy(api, httpFlow(`${targetUrl}/?ms=1000`));
    const perSecond = await throughput(stage.call(api, id, {}), 60, quick ? 24 : 20 * count + 20);
    one ??= perSecond;
    say(`| ${count} | ${perSecond.toFixed(2)} | ${(perSecond / one).toFixed(2)} |`);
    await Promise.all([api, ...processes].map((each) => each.stop()));
  }
  say("\nEach worker executes 4 activities of the one organisation at once; each waits 1 s for its target.\n");
}
