// npm run bench:models: the cost of an llm node compared with the direct call of the same server, and the cost of streams. Writes
// bench/models.md.
import { writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PACKAGE_ROOT } from "../src/dev/package-root.ts";
import { Agent, setGlobalDispatcher } from "undici";
import { startModelStub, type StubReply } from "../src/dev/model-stub.ts";
import { median, quantile } from "./measure.ts";
import { openStage, request, residentMib, type Process, type Stage } from "./stage.ts";

// Each stream has its own connection.
setGlobalDispatcher(new Agent({ connections: 1000 }));

const quick = process.argv.includes("--quick");
const CALLS = quick ? 20 : 60;
const READERS = 100;
const OPEN_STREAMS = 500;
/** What the stub server returns: this many pieces, one every EVERY_MS. */
const PIECES = 20;
const EVERY_MS = 20;
const report: string[] = [];
const say = (line: string): void => {
  console.log(line);
  report.push(line);
};

const paced: StubReply = { text: Array.from({ length: PIECES }, (_, at) => `word${at} `), pauseMs: EVERY_MS };
const stub = await startModelStub();
stub.answer(() => paced);
const stage = await openStage({ durable: false });
try {
  const env = { MILLRACE_MODEL_URL: `${stub.url}/v1`, MILLRACE_MODEL: "stub" };
  const [api] = await Promise.all([stage.api(env), stage.worker(env)]);
  say("# Models: overhead and streams\n");
  say(
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0]?.model ?? "?"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}; one api, one worker, all servers on this machine, load average ${loadavg()[0]?.toFixed(0)} at the start. Repeat with \`npm run bench:models\`.\n`,
  );
  say(
    `The stand-in server answers ${PIECES} pieces, one every ${EVERY_MS} ms. "Direct" asks it over HTTP and reads its stream; "flow" is \`POST /inference/v0/stream\` of a flow of an input, an \`llm\` node and an output. Both alternate, so that other load affects both.\n`,
  );
  const flow = {
    schema_version: 1,
    name: "bench",
    nodes: [
      { id: "in-0", type: "input" },
      { id: "llm-0", type: "llm", config: { prompt: "{{in-0}}" } },
      { id: "out-0", type: "output" },
    ],
    edges: [
      { source: "in-0", target: "llm-0" },
      { source: "llm-0", target: "out-0" },
    ],
  };
  const project = await stage.deploy(api, flow);
  await overhead(api, project);
  await underWay(api, project);
  await readers(api, project);
  await memory(api, project);
  if (!quick) writeFileSync(join(PACKAGE_ROOT, "bench", "models.md"), `${report.join("\n")}\n`);
} finally {
  await stage.close();
  await stub.close();
}

interface Timing {
  /** Time until the first text, and until the last (ms). */
  readonly first: number;
  readonly whole: number;
}

async function direct(): Promise<Timing> {
  const body = { model: "stub", stream: true, messages: [{ role: "user", content: "x" }] };
  return timed(
    () =>
      fetch(`${stub.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    "word0",
  );
}

function throughFlow(api: Process, project: string): Promise<Timing> {
  return timed(() => streamed(stage, api, project), "word0");
}

function streamed(on: Stage, api: Process, project: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${api.url}/inference/v0/stream/${on.org_id}/${project}`, {
    method: "POST",
    headers: { authorization: `Bearer ${on.key}`, "content-type": "application/json" },
    body: JSON.stringify({ "in-0": "x" }),
    ...(signal ? { signal } : {}),
  });
}

/** Reads a response to its end; `mark` occurs in its first text. */
async function timed(send: () => Promise<Response>, mark: string): Promise<Timing> {
  const began = performance.now();
  const response = await send();
  if (!response.ok || !response.body) throw new Error(`${response.status} ${await response.text()}`);
  let first = 0;
  let seen = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    if (first > 0) continue;
    seen += Buffer.from(chunk).toString();
    if (seen.includes(mark)) first = performance.now() - began;
  }
  return { first, whole: performance.now() - began };
}

async function overhead(api: Process, project: string): Promise<void> {
  say("## An `llm` node beside the direct call\n");
  say("| started together | call | first text p50 | p95 | whole p50 | p95 |\n| --- | --- | --- | --- | --- | --- |");
  for (let i = 0; i < 5; i += 1) await throughFlow(api, project);
  for (const concurrency of [1, 50]) {
    const seen: Record<"direct" | "flow", Timing[]> = { direct: [], flow: [] };
    const rounds = concurrency === 1 ? CALLS : Math.ceil((2 * CALLS) / concurrency);
    for (let round = 0; round < rounds; round += 1) {
      const together = (call: () => Promise<Timing>) => Promise.all(Array.from({ length: concurrency }, call));
      seen.direct.push(...(await together(direct)));
      seen.flow.push(...(await together(() => throughFlow(api, project))));
    }
    const row = (name: string, timings: readonly Timing[]): void => {
      const figures = (["first", "whole"] as const).flatMap((what) => {
        const times = timings.map((timing) => timing[what]);
        return [median(times), quantile(times, 0.95)];
      });
      say(`| ${concurrency} | ${name} | ${figures.map((ms) => `${ms.toFixed(0)} ms`).join(" | ")} |`);
    };
    row("direct", seen.direct);
    row("flow", seen.flow);
    const added = (what: "first" | "whole"): string =>
      (median(seen.flow.map((t) => t[what])) - median(seen.direct.map((t) => t[what]))).toFixed(0);
    say(`| ${concurrency} | added at p50 | ${added("first")} ms |  | ${added("whole")} ms |  |`);
  }
}

/** As many streams in progress as there are callers; each caller starts its next stream when one has finished. */
async function underWay(api: Process, project: string): Promise<void> {
  const callers = 50;
  const seconds = 5;
  stub.answer(() => ({ text: Array.from({ length: seconds * 20 }, (_, at) => `word${at} `), pauseMs: 50 }));
  const measure = async (call: () => Promise<Timing>): Promise<Timing[]> => {
    const all = await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        // Starts are spread evenly, as from independent people.
        await delay((caller * seconds * 1000) / callers);
        const own: Timing[] = [];
        for (let round = 0; round < (quick ? 1 : 4); round += 1) own.push(await call());
        // The first stream of each caller is not counted, because it ran before all callers had started.
        return own.slice(quick ? 0 : 1);
      }),
    );
    return all.flat();
  };
  const seen = { direct: await measure(direct), flow: await measure(() => throughFlow(api, project)) };
  stub.answer(() => paced);
  for (const [name, timings] of Object.entries(seen)) {
    const first = timings.map((timing) => timing.first);
    say(
      `| ${callers} streams of ${seconds} s under way | ${name} | ${median(first).toFixed(0)} ms | ${quantile(first, 0.95).toFixed(0)} ms |  |  |`,
    );
  }
  const firsts = (timings: readonly Timing[]): number => median(timings.map(({ first }) => first));
  say(
    `| ${callers} streams of ${seconds} s under way | added at p50 | ${(firsts(seen.flow) - firsts(seen.direct)).toFixed(0)} ms |  |  |  |`,
  );
}

async function readers(api: Process, project: string): Promise<void> {
  say(`\n## ${READERS} readers of a run's events\n`);
  const seconds = quick ? 5 : 15;
  stub.answer(() => ({ text: Array.from({ length: seconds * 50 }, () => "a word "), pauseMs: 20 }));
  const run = (await request(`${api.url}/v2/runs`, stage.key, { project_id: project, inputs: { "in-0": "x" } })) as {
    run_id: string;
  };
  const headers = { authorization: `Bearer ${stage.key}`, accept: "text/event-stream" };
  const began = performance.now();
  const counts = await Promise.all(
    Array.from({ length: READERS }, async () => {
      const response = await fetch(`${api.url}/v2/runs/${run.run_id}`, { headers });
      const text = await response.text();
      const deltas = [...text.matchAll(/^data: (.*"type":"output\.delta".*)$/gm)].map(
        ([, data]) => (JSON.parse(data ?? "") as { data: { text: string } }).data.text,
      );
      return { deltas: deltas.length, chars: deltas.join("").length };
    }),
  );
  const took = (performance.now() - began) / 1000;
  const total = counts.reduce((sum, { deltas }) => sum + deltas, 0);
  const complete = counts.every(({ chars }) => chars === counts[0]?.chars && chars === seconds * 50 * 7);
  say(
    `One run whose model writes 50 pieces a second for ${seconds} s: ${total} \`output.delta\` events to ${READERS} readers in ${took.toFixed(1)} s, ${(total / took).toFixed(0)} a second; every reader had the whole text: ${complete ? "yes" : "no"}.`,
  );
  stub.answer(() => paced);
}

async function memory(api: Process, project: string): Promise<void> {
  say(`\n## Memory of the api with ${OPEN_STREAMS} open streams\n`);
  const piece = "as many words as a sentence has ";
  stub.answer(() => ({ text: Array.from({ length: 1500 }, () => piece), pauseMs: 20 }));
  const run = (await request(`${api.url}/v2/runs`, stage.key, { project_id: project, inputs: { "in-0": "x" } })) as {
    run_id: string;
  };
  const headers = { authorization: `Bearer ${stage.key}`, accept: "text/event-stream" };
  const gone = new AbortController();
  const before = residentMib(api.pid);
  const open = await Promise.all(
    Array.from({ length: OPEN_STREAMS }, () =>
      fetch(`${api.url}/v2/runs/${run.run_id}`, { headers, signal: gone.signal }),
    ),
  );
  // Half of the clients read; the others only hold their connection.
  const reading = open
    .filter((_, at) => at % 2 === 0)
    .map((response) => response.body?.pipeTo(new WritableStream(), { signal: gone.signal }).catch(() => undefined));
  await delay(5000);
  const after5 = residentMib(api.pid);
  await delay(15_000);
  const after20 = residentMib(api.pid);
  say(
    `Readers of the events of one run whose model writes 50 pieces a second; half of them read, half read nothing: ${before.toFixed(0)} MiB before, ${after5.toFixed(0)} MiB after 5 s, ${after20.toFixed(0)} MiB after 20 s; ${(((after20 - before) * 1024) / OPEN_STREAMS).toFixed(0)} KiB a stream.`,
  );
  gone.abort();
  await Promise.allSettled(reading.map((each) => Promise.resolve(each)));
  await request(`${api.url}/v2/runs/${run.run_id}/cancel`, stage.key, {});
}
