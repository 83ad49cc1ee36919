import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { uuidv7 } from "uuidv7";
import { createKey, createOrganisation } from "../src/cli/accounts.ts";
import { insertEvent } from "../src/stores/outbox.ts";
import { inlineFlow } from "./flows.ts";
import { median, quantile, throughput } from "./measure.ts";
import { request, type Process, type Stage } from "./stage.ts";

type WithService = <T>(env: Record<string, string>, work: (api: Process, worker: Process) => Promise<T>) => Promise<T>;

interface Receiver {
  readonly url: string;
  /** Times from an event to its arrival (ms). */
  readonly lags: number[];
  close(): void;
}

/** Measures the delivery of events, and its cost for the runs. */
export async function webhookBench(stage: Stage, withService: WithService, quick: boolean): Promise<string[]> {
  const count = quick ? 500 : 2000;
  return withService({ MILLRACE_API_WORKER: "true" }, async (api) => [
    "## Webhooks\n",
    ...(await burst(stage, api, count)),
    ...(await beside(stage, api, quick ? 5 : 15)),
    ...(await cost(stage, api, quick ? { rounds: 1, load: 150 } : { rounds: 3, load: 300 })),
    ...(await many(stage, api, quick ? { rounds: 1, load: 300 } : { rounds: 3, load: 600 })),
    "",
  ]);
}

/** All events together, and then at a steady rate. */
async function burst(stage: Stage, api: Process, count: number): Promise<string[]> {
  const [receiver] = await receivers(1);
  if (!receiver) return [];
  const unsubscribe = await subscribe(stage, api, receiver.url, ["skill.*"]);
  const since = performance.now();
  await stage.db.systemTransaction(async (db) => {
    for (let n = 0; n < count; n += 1) await insertEvent(db, event(stage.org_id));
  });
  const written = performance.now();
  await until(() => receiver.lags.length >= count);
  const perSecond = (count * 1000) / (performance.now() - written);
  receiver.lags.length = 0;
  await steadily(stage, 50, 10);
  await until(() => receiver.lags.length >= 500);
  const [p50, p95] = [0.5, 0.95].map((share) => quantile(receiver.lags, share).toFixed(0));
  receiver.close();
  await unsubscribe();
  return [
    `- ${count} events written in one transaction (${((written - since) / 1000).toFixed(1)} s) to one receiver: ${perSecond.toFixed(0)} delivered a second, each signed and recorded`,
    `- 50 events a second: lag p50 ${p50} ms, p95 ${p95} ms from the event to its arrival`,
  ];
}

/** Ten receivers that respond, without and with an eleventh that accepts every request and never responds. */
async function beside(stage: Stage, api: Process, seconds: number): Promise<string[]> {
  const healthy = await receivers(10);
  const unsubscribe = await Promise.all(healthy.map(({ url }) => subscribe(stage, api, url, ["skill.*"])));
  const measure = async (): Promise<number> => {
    for (const { lags } of healthy) lags.length = 0;
    await steadily(stage, 5, seconds);
    await until(() => healthy.every(({ lags }) => lags.length >= 5 * seconds));
    return quantile(
      healthy.flatMap(({ lags }) => lags),
      0.95,
    );
  };
  await measure();
  const without: number[] = [];
  const withOne: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    without.push(await measure());
    const hanging = createServer(() => undefined);
    const remove = await subscribe(stage, api, await listening(hanging), ["skill.*"]);
    withOne.push(await measure());
    await remove();
    hanging.closeAllConnections();
    hanging.close();
  }
  await Promise.all(unsubscribe.map((each) => each()));
  for (const each of healthy) each.close();
  const [alone, beside_] = [median(without), median(withOne)];
  return [
    `- ten healthy receivers, 5 events a second to each: lag p95 ${alone.toFixed(0)} ms; beside one that hangs ${beside_.toFixed(0)} ms, ratio ${(beside_ / alone).toFixed(2)}`,
  ];
}

/** The throughput of inline flows, without and with a webhook for their terminal events. */
async function cost(stage: Stage, api: Process, { rounds, load }: { rounds: number; load: number }): Promise<string[]> {
  const project = await stage.deploy(api, inlineFlow);
  const call = stage.call(api, project, { "in-0": "Ada" });
  await throughput(call, 30, 60);
  const none: number[] = [];
  const one: number[] = [];
  let arrived = 0;
  for (let round = 0; round < rounds; round += 1) {
    none.push(await throughput(call, 30, load));
    const [receiver] = await receivers(1);
    if (!receiver) return [];
    const unsubscribe = await subscribe(stage, api, receiver.url, ["run.completed"]);
    one.push(await throughput(call, 30, load));
    await until(() => receiver.lags.length >= load);
    arrived += receiver.lags.length;
    await unsubscribe();
    receiver.close();
  }
  return [
    `- inline flows, 30 at once: ${median(none).toFixed(1)} a second without a subscription, ${median(one).toFixed(1)} with one to run.completed, ratio ${(median(one) / median(none)).toFixed(2)} (${arrived} events arrived)`,
  ];
}

/** The throughput of inline flows, without and with an event for each of a thousand webhooks of ten organisations. */
async function many(stage: Stage, api: Process, { rounds, load }: { rounds: number; load: number }): Promise<string[]> {
  const project = await stage.deploy(api, inlineFlow);
  const call = stage.call(api, project, { "in-0": "Ada" });
  const [receiver] = await receivers(1);
  if (!receiver) return [];
  const organisations: string[] = [];
  for (let n = 0; n < 10; n += 1) {
    const { org_id } = await createOrganisation(stage.db, `bench ${n}`);
    const { value: key } = await createKey(stage.db, { org_id, name: "bench", kind: "secret" });
    for (let made = 0; made < 100; made += 20)
      await Promise.all(
        Array.from({ length: 20 }, () => subscribe({ key }, api, receiver.url, ["skill.version.created"])),
      );
    organisations.push(org_id);
  }
  await throughput(call, 30, 60);
  const none: number[] = [];
  const each: number[] = [];
  const took: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    none.push(await throughput(call, 30, load));
    receiver.lags.length = 0;
    const under = throughput(call, 30, load);
    const since = performance.now();
    for (const org_id of organisations) await stage.db.system((db) => insertEvent(db, event(org_id)));
    await until(() => receiver.lags.length >= 1000);
    took.push(performance.now() - since);
    each.push(await under);
  }
  receiver.close();
  return [
    `- inline flows, 30 at once, ${load} of them: ${median(none).toFixed(1)} a second, and ${median(each).toFixed(1)} while a thousand subscriptions get an event each, ratio ${(median(each) / median(none)).toFixed(2)}; all had it after ${median(took).toFixed(0)} ms`,
  ];
}

function event(org_id: string) {
  return { event_id: uuidv7(), org_id, type: "skill.version.created", data: { n: 1 } } as const;
}

/** Writes this many events per second, one by one. */
async function steadily(stage: Stage, perSecond: number, seconds: number): Promise<void> {
  const since = performance.now();
  for (let n = 0; n < perSecond * seconds; n += 1) {
    await delay(Math.max(0, since + (n * 1000) / perSecond - performance.now()));
    await stage.db.system((db) => insertEvent(db, event(stage.org_id)));
  }
}

async function subscribe(
  stage: Pick<Stage, "key">,
  api: Process,
  url: string,
  events: string[],
): Promise<() => Promise<void>> {
  const path = `${api.url}/v2/webhooks/subscriptions`;
  const { subscription_id } = (await request(path, stage.key, { url, events })) as { subscription_id: string };
  return async () => {
    await fetch(`${path}/${subscription_id}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${stage.key}` },
    });
  };
}

function receivers(count: number): Promise<Receiver[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const lags: number[] = [];
      const server = createServer((incoming, response) => {
        const arrived = Date.now();
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => void chunks.push(chunk));
        incoming.on("end", () => {
          const { timestamp } = JSON.parse(Buffer.concat(chunks).toString()) as { timestamp: string };
          lags.push(arrived - Date.parse(timestamp));
          response.writeHead(204).end();
        });
      });
      return {
        url: await listening(server),
        lags,
        close() {
          server.closeAllConnections();
          server.close();
        },
      };
    }),
  );
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(10);
}
