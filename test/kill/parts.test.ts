import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { install, type Installation } from "./installation.ts";
import { startWorkload } from "./workload.ts";
import { refused } from "./persistent-client.ts";
import { recordKill } from "./kill-table.ts";

let installation: Installation;
beforeAll(async () => {
  installation = await install();
});
afterAll(() => installation?.close());

// Most requests that may be repeated, always with the same key: requests in flight when a worker is killed (10 items of
// the map, one iteration of the loop, the slow ones), or when Temporal misses a worker's heartbeats for ten seconds.
// Other kills cause none, because a worker keeps results until it can report them.
const MAX_REPEATED = { worker: 20, temporal: 20, api: 0, postgres: 0 };

// outage.test.ts covers servers that stop under load.
const PARTS = ["worker", "api", "temporal", "postgres"] as const;

describe("a kill while runs of every kind, an upload and clients are in progress", () => {
  it.each(PARTS)("%s: accepted runs complete correctly, and each node is recorded once", async (what) => {
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
