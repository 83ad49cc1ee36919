import { setTimeout as delay } from "node:timers/promises";
import { inlineFlow, templateFlow } from "./flows.ts";
import { latencies, median, quantile, throughput } from "./measure.ts";
import { request, type Process, type Stage } from "./stage.ts";

type WithService = <T>(env: Record<string, string>, work: (api: Process, worker: Process) => Promise<T>) => Promise<T>;

/** A burst of asynchronous runs, and its effect on concurrent synchronous calls, while it arrives and until it has been executed. */
export async function burstBench(stage: Stage, withService: WithService, quick: boolean): Promise<string[]> {
  const count = quick ? 500 : 2000;
  return withService({}, async (api) => {
    const [burst, inline] = await Promise.all([stage.deploy(api, templateFlow), stage.deploy(api, inlineFlow)]);
    const sync = stage.call(api, inline, { "in-0": "x" });
    const post = (): Promise<unknown> =>
      request(`${api.url}/v2/runs`, stage.key, { project_id: burst, inputs: { "in-0": "x" } });
    await latencies(sync, 30);
    const alone = await latencies(sync, 100);

    const start = performance.now();
    let accepted = false;
    let ended = false;
    const during: number[] = [];
    const after: number[] = [];
    const beside = (async () => {
      while (!ended) (accepted ? after : during).push(...(await latencies(sync, 1)));
    })();
    const perSecond = await throughput(post, 30, count);
    accepted = true;
    while ((await completed(stage, burst)) < count) await delay(50);
    ended = true;
    const seconds = (performance.now() - start) / 1000;
    await beside;

    const shown = (name: string, times: readonly number[]): string =>
      `- a synchronous call ${name}: p50 ${median(times).toFixed(0)} ms, p95 ${quantile(times, 0.95).toFixed(0)} ms (${times.length} calls), p95 ratio ${(quantile(times, 0.95) / quantile(alone, 0.95)).toFixed(1)}`;
    return [
      "## Bursts\n",
      `- ${count} times POST /v2/runs over 30 connections: ${perSecond.toFixed(0)} accepted a second; the last had been executed after ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} a second`,
      shown("without them", alone),
      shown("while they arrive", during),
      `${shown("while they are executed", after)}\n`,
    ];
  });
}

async function completed(stage: Stage, projectId: string): Promise<number> {
  const [row] = await stage.db.system((db) =>
    db.query<{ n: number }>("select count(*)::int as n from runs where project_id = $1::uuid and state = 'COMPLETED'", [
      projectId,
    ]),
  );
  return row?.n ?? 0;
}
