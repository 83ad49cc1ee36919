import { latencies, median, quantile } from "./measure.ts";
import { request, type Stage } from "./stage.ts";

interface Page {
  readonly data: readonly unknown[];
  readonly cursor: string | null;
}

/** GET /v2/runs with many rows: the cost of a page at the beginning and far down the list. */
export async function listBench(stage: Stage, rows: number): Promise<string> {
  const api = await stage.api();
  try {
    const project_id = await stage.deploy(api, {
      schema_version: 1,
      name: "list",
      nodes: [{ id: "out-0", type: "output", config: { value: "x" } }],
      edges: [],
    });
    // IDs in the order of creation, as Millrace makes them: 48 bits of time; the other bits do not matter.
    await stage.db.system((db) =>
      db.query(
        `insert into runs (run_id, org_id, project_id, flow_version, state, inputs, run_type, ran_by_type, start_input, timeout_seconds, finished_at)
         select (lpad(to_hex(1700000000000 + n * 10), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
           $1::uuid, $2::uuid, 1, (array['COMPLETED', 'COMPLETED', 'COMPLETED', 'FAILED', 'CANCELLED'])[1 + n % 5], '{}', 'api', 'system', '{}', 60, now()
         from generate_series(1, $3::int) as n`,
        [stage.org_id, project_id, rows],
      ),
    );
    await stage.db.system((db) => db.query("analyze runs"));
    const page = (cursor: string | null, filter = ""): Promise<Page> =>
      request(
        `${api.url}/v2/runs?page_size=50${filter}${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
        stage.key,
      ) as Promise<Page>;
    const depth = Math.min(10_000, Math.floor(rows / 50) - 2);
    // Goes to page 10 000 in large steps, because a cursor is bound to its filters, not to the size of its pages.
    let cursor: string | null = null;
    for (let at = 0; at < depth * 50; at += 200) {
      const { cursor: next } = (await request(
        `${api.url}/v2/runs?page_size=200${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
        stage.key,
      )) as Page;
      cursor = next;
    }
    const first = await latencies(() => page(null), 100);
    const deep = await latencies(() => page(cursor), 100);
    const filtered = await latencies(() => page(null, "&state=FAILED"), 100);
    const line = (name: string, times: readonly number[]) =>
      `| ${name} | ${median(times).toFixed(1)} | ${quantile(times, 0.95).toFixed(1)} |`;
    return [
      `## GET /v2/runs over ${rows} runs\n`,
      "| page of 50 | p50 ms | p95 ms |\n| --- | ---: | ---: |",
      line("first", first),
      line(`number ${depth}`, deep),
      line("first, state=FAILED", filtered),
      `\nThe deep page against the first: ${(median(deep) / median(first)).toFixed(2)}\n`,
    ].join("\n");
  } finally {
    await api.stop();
  }
}
