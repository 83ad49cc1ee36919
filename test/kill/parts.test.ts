import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LONG } from "../support/long.ts";
import { install } from "./installation.ts";
import type { Installation } from "./installation.ts";
import { startWorkload } from "./workload.ts";
import { refused } from "./persistent-client.ts";
import { recordKill } from "./kill-table.ts";

let installation: Installation;
beforeAll(async () => {
  installation = await install();
});
afterAll(() => installation?.close());

// Requests in flight when the worker is killed are sent again, under the same key: 10 items of the map, a round of the loop, the
// long ones. So are those of a worker whose heartbeats Temporal missed for ten seconds. Otherwise none: the result
// of a node is kept in the worker until it can be reported.
const MAX_REPEATED = { worker: 20, temporal: 20, api: 0, postgres: 0 };

// Servers that are gone under load: outage.test.ts.
const PARTS = LONG ? (["api", "temporal", "postgres"] as const) : (["worker"] as const);

describe("killed while every kind of run, an upload and clients are under way", () => {
  it.each(PARTS)("%s: accepted runs complete correctly, each node recorded once", async (what) => {
    const [part] = what === "worker" ? installation.worker : what === "api" ? installation.api : [installation[what]];
    const workload = await startWorkload(installation);
    try {
      await workload.underWay();
      await part?.kill();
      await part?.restart();
      const { runs, nodes, requests, repeated, documents, recoveredMs, refusals } = await workload.verdict();
      expect(refusals.withoutRetryAfter).toBe(0);
      expect(installation.logs()).not.toContain('"level":"fatal"');
      expect(repeated).toBeLessThanOrEqual(MAX_REPEATED[what]);
      recordKill({
        killed: what,
        when: "short http nodes, held http, code, delay, map of 500, open approvals, sub-flows, uploads, sync and async posts under way",
        runs,
        outcome: `all COMPLETED ${(recoveredMs / 1000).toFixed(1)} s after the restart; ${nodes} nodes recorded once, ${documents} documents indexed; ${requests} http effects, ${repeated} of them asked for twice (same key); posts met ${refused(refusals)}`,
      });
    } finally {
      await workload.close();
    }
  });
});
