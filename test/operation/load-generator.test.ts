import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { flow, openBench } from "../engine/support.ts";
import { service } from "../support/service.ts";

const program = fileURLToPath(new URL("../../dist/bench/load-main.js", import.meta.url));

interface Report {
  readonly requests: number;
  readonly completed: number;
  readonly latency_ms: { readonly p50: number; readonly p95: number; readonly p99: number };
  readonly by_status: Readonly<Record<string, number>>;
  readonly by_state: Readonly<Record<string, number>>;
}

it("starts as many runs as are due, and counts their outcomes", async () => {
  const bench = await openBench();
  const project_id = await bench.deploy(
    flow(
      [
        { id: "in-0", type: "input" },
        { id: "guard-0", type: "guard", config: { check: "nodes['in-0'] == 'good'", message: "no" } },
        { id: "out-0", type: "output" },
      ],
      ["in-0>guard-0", "guard-0>out-0"],
    ),
  );
  const load = async (...more: string[]): Promise<Report> => {
    const args = ["--url", service().url, "--key", bench.secretKey, "--rate", "10", "--duration", "1", "--json"];
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...args, ...more]);
    return JSON.parse(stdout) as Report;
  };
  const good = await load("--flow", project_id, "--inputs", '{"in-0":"good"}');
  expect(good).toMatchObject({ requests: 10, completed: 10, by_state: { COMPLETED: 10 } });
  expect(good.latency_ms.p50).toBeGreaterThan(0);
  expect(good.latency_ms.p50).toBeLessThanOrEqual(good.latency_ms.p99);
  expect(Object.values(good.by_status)).toEqual([10]);
  const { body } = await bench.api.get("/v2/runs", { query: { project_id } });
  expect(body.data).toHaveLength(10);

  const failed = await load("--flow", project_id, "--inputs", '{"in-0":"bad"}');
  expect(failed).toMatchObject({ completed: 0, by_state: { FAILED: 10 } });
  const refused = await load("--flow", "0197f0a0-0000-7000-8000-000000000000");
  expect(refused).toMatchObject({ completed: 0, by_state: { "no run": 10 } });
  expect(Object.keys(refused.by_status)[0]).toMatch(/^4\d\d \w+/);
});
