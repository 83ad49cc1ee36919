// Measures actions and triggers: `npm run bench:providers`; writes bench/providers.md.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PACKAGE_ROOT } from "../src/dev/package-root.ts";
import { latencies, median, quantile } from "./measure.ts";
import { openStage, request, type Process, type Stage } from "./stage.ts";

const CALLS = 200;
const SCHEDULES = 10_000;
const DELIVERIES = 200;

const line = (name: string, times: readonly number[]): string =>
  `| ${name} | ${median(times).toFixed(1)} | ${quantile(times, 0.95).toFixed(1)} |`;
const TABLE = "| | p50 ms | p95 ms |\n| --- | ---: | ---: |";

/** The cost of an action run in addition to the call that it makes. */
async function measureActions(stage: Stage, api: Process): Promise<string> {
  const server = createServer((_, response) => response.end('{"ok":true}'));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const path = `${api.url}/v2/providers/http/actions/get/run`;
  const direct = (): Promise<unknown> => request(url, null);
  const action = async (): Promise<void> => {
    const { successful } = (await request(path, stage.key, { inputs: { url } })) as { successful: boolean };
    if (!successful) throw new Error("the action failed");
  };
  await latencies(direct, 20);
  await latencies(action, 20);
  const [calls, runs] = [await latencies(direct, CALLS), await latencies(action, CALLS)];
  server.close();
  return [
    "## A run of an action beside the direct call\n",
    TABLE,
    line("direct", calls),
    line("`POST .../actions/get/run`", runs),
    `\nOverhead p50: ${(median(runs) - median(calls)).toFixed(1)} ms (wanted: at most 60)\n`,
  ].join("\n");
}

interface Page {
  readonly data: readonly unknown[];
  readonly cursor: string | null;
}

/** GET /v2/triggers with many schedules. Their rows are written directly, because the list does not use Temporal's schedules. */
async function measureList(stage: Stage, api: Process, projectId: string): Promise<string> {
  await stage.db.system((db) =>
    db.query(
      `insert into triggers (id, org_id, project_id, provider_id, trigger_id, kind, config, enabled, applied_revision)
       select (lpad(to_hex(1700000000000 + n * 10), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
         $1::uuid, $2::uuid, 'millrace', 'schedule', 'schedule', '{"cron": "0 0 1 1 *", "time_zone": "UTC"}', false, 1
       from generate_series(1, $3::int) as n`,
      [stage.org_id, projectId, SCHEDULES],
    ),
  );
  await stage.db.system((db) => db.query("analyze triggers"));
  const page = (size: number, cursor: string | null): Promise<Page> =>
    request(
      `${api.url}/v2/triggers?page_size=${size}${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
      stage.key,
    ) as Promise<Page>;
  let cursor: string | null = null;
  let count = 0;
  for (let at = 0; at < SCHEDULES - 200; at += 200) {
    const { data, cursor: next } = await page(200, cursor);
    count += data.length;
    cursor = next;
  }
  const first = await latencies(() => page(50, null), 100);
  const deep = await latencies(() => page(50, cursor), 100);
  return [
    `## GET /v2/triggers over ${SCHEDULES} schedules, pages of 50\n`,
    TABLE,
    line("first page", first),
    line(`after ${count}`, deep),
    `\nThe deep page against the first: ${(median(deep) / median(first)).toFixed(2)}\n`,
  ].join("\n");
}

/** Time from sending a delivery to the recorded start of the run. */
async function measureWebhook(stage: Stage, api: Process, projectId: string): Promise<string> {
  const { address } = (await request(`${api.url}/v2/triggers`, stage.key, {
    project_id: projectId,
    provider_id: "millrace",
    trigger_id: "webhook",
    config: {},
    inputs: { "in-0": "payload.body.text" },
  })) as { address: string };
  const sent = new Map<string, number>();
  const url = api.url + new URL(address).pathname;
  const answered = await latencies(async () => {
    const at = Date.now();
    const { run_id } = (await request(url, null, { text: "hi" })) as { run_id: string };
    sent.set(run_id, at);
  }, DELIVERIES + 20);
  await delay(2000);
  const rows = await stage.db.system((db) =>
    db.query<{ run_id: string; at: number }>(
      "select run_id, extract(epoch from started_at)::float8 * 1000 as at from runs where run_id = any ($1::uuid[]) and started_at is not null",
      [[...sent.keys()].slice(20)],
    ),
  );
  if (rows.length !== DELIVERIES) throw new Error(`${rows.length} of ${DELIVERIES} runs have started`);
  const started = rows.map(({ run_id, at }) => at - (sent.get(run_id) ?? 0));
  return [
    "## An inbound webhook\n",
    TABLE,
    line("answered (202)", answered.slice(20)),
    line("its run has started", started),
    `\nTo the start of the run p95: ${quantile(started, 0.95).toFixed(1)} ms (wanted: at most 100)\n`,
  ].join("\n");
}

const stage = await openStage({ durable: false });
try {
  const [api] = await Promise.all([stage.api({ MILLRACE_HOOK_RATE_LIMIT: "100000" }), stage.worker()]);
  const projectId = await stage.deploy(api, {
    schema_version: 1,
    name: "echo",
    nodes: [
      { id: "in-0", type: "input" },
      { id: "out-0", type: "output" },
    ],
    edges: [{ source: "in-0", target: "out-0" }],
  });
  const parts = [
    "# Actions and triggers\n\n`npm run bench:providers`; api, worker, Postgres and Temporal on one machine, requests one after the other.\n",
    await measureActions(stage, api),
    await measureWebhook(stage, api, projectId),
    await measureList(stage, api, projectId),
  ];
  const text = parts.join("\n");
  writeFileSync(join(PACKAGE_ROOT, "bench", "providers.md"), text);
  process.stdout.write(text);
} finally {
  await stage.close();
}
process.exit(0);
