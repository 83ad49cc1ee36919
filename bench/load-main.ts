// npm run bench:load -- --url http://localhost:8080 --key sk_... --flow <project_id> --rate 20 --duration 30
// Starts runs of a flow at a steady rate, whatever the installation answers: arrivals do not wait for answers, so a slow
// installation shows as long latencies and not as fewer requests. Use it only for your own installation.
import { parseArgs } from "node:util";
import { setTimeout as delay } from "node:timers/promises";
import { Agent, setGlobalDispatcher } from "undici";
import { quantile } from "./measure.ts";

const { values } = parseArgs({
  options: {
    url: { type: "string" },
    key: { type: "string" },
    flow: { type: "string" },
    inputs: { type: "string", default: "{}" },
    /** Runs per second. */
    rate: { type: "string", default: "10" },
    /** Duration in seconds. */
    duration: { type: "string", default: "10" },
    json: { type: "boolean", default: false },
  },
});
const { url, key, flow, json } = values;
const rate = Number(values.rate);
const duration = Number(values.duration);
if (url === undefined || key === undefined || flow === undefined || !(rate > 0 && rate <= 5000) || !(duration > 0)) {
  console.error(
    "npm run bench:load -- --url <address> --key <secret key> --flow <project id> [--inputs <json>] [--rate <runs a second, to 5000>] [--duration <seconds>] [--json]",
  );
  process.exit(2);
}
setGlobalDispatcher(new Agent({ connections: 512, keepAliveTimeout: 60_000 }));

/** The result of a request, and when it was due (ms). */
interface Answer {
  readonly status: string;
  readonly state: string | null;
  readonly ms: number;
}

async function run(due: number): Promise<Answer> {
  const ended = (status: string, state: string | null): Answer => ({ status, state, ms: performance.now() - due });
  try {
    const response = await fetch(new URL("/v2/runs", url), {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ project_id: flow, inputs: JSON.parse(values.inputs) as unknown, mode: "sync" }),
      signal: AbortSignal.timeout(120_000),
    });
    const body = (await response.json()) as { readonly state?: string; readonly code?: string };
    return ended(response.ok ? String(response.status) : `${response.status} ${body.code ?? ""}`, body.state ?? null);
  } catch (error) {
    return ended(error instanceof Error ? error.name : "error", null);
  }
}

const count = Math.max(1, Math.round(rate * duration));
const began = performance.now();
const answers: Array<Promise<Answer>> = [];
for (let at = 0; at < count; at += 1) {
  const due = began + (at * 1000) / rate;
  const early = due - performance.now();
  if (early > 1) await delay(early);
  // Measured from the due time, so that delays of this process count too.
  answers.push(run(due));
}
const all = await Promise.all(answers);
const seconds = (performance.now() - began) / 1000;
const completed = all.filter(({ state }) => state === "COMPLETED");
const times = completed.map(({ ms }) => ms);
const by = (of: (answer: Answer) => string): Record<string, number> =>
  all.reduce<Record<string, number>>((sums, answer) => ({ ...sums, [of(answer)]: (sums[of(answer)] ?? 0) + 1 }), {});
const ms = (share: number): number | null => (times.length === 0 ? null : Math.round(quantile(times, share)));
const report = {
  requests: count,
  seconds: Number(seconds.toFixed(1)),
  wanted_per_second: rate,
  completed_per_second: Number((completed.length / seconds).toFixed(1)),
  completed: completed.length,
  latency_ms: { p50: ms(0.5), p95: ms(0.95), p99: ms(0.99) },
  by_status: by(({ status }) => status),
  by_state: by(({ state }) => state ?? "no run"),
};
console.log(json ? JSON.stringify(report) : JSON.stringify(report, null, 2));
