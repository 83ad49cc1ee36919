import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { install } from "./installation.ts";
import type { Installation } from "./installation.ts";
import { startMixture } from "./mixture.ts";
import { refused } from "./stubborn.ts";
import { tell } from "./table.ts";

let installation: Installation;
beforeAll(async () => {
  installation = await install();
});
afterAll(() => installation?.close());

// Requests under way when the worker dies are sent again, under the same key: 10 items of the map, a round of the loop, the
// long ones. So are those of a worker that could not tell Temporal for ten seconds that it lives. Otherwise none: what came
// of a node waits in the worker until it can be told.
const MAX_REPEATED = { worker: 20, temporal: 20, api: 0, postgres: 0 };

describe("killed while every kind of run, an upload and clients are in the middle of it", () => {
  it.each(["worker", "api", "temporal", "postgres"] as const)(
    "%s: what was accepted ends right, each node recorded once",
    async (what) => {
      const [part] = what === "worker" ? installation.worker : what === "api" ? installation.api : [installation[what]];
      const mixture = await startMixture(installation);
      try {
        await mixture.inTheMiddle();
        await part?.kill();
        await part?.restart();
        const { runs, nodes, requests, repeated, documents, recoveredMs, refusals } = await mixture.verdict();
        expect(refusals.withoutRetryAfter).toBe(0);
        expect(installation.logs()).not.toContain('"level":"fatal"');
        expect(repeated).toBeLessThanOrEqual(MAX_REPEATED[what]);
        tell({
          killed: what,
          when: "short http nodes, held http, code, delay, map of 500, open approvals, sub-flows, uploads, sync and async posts under way",
          runs,
          outcome: `all COMPLETED ${(recoveredMs / 1000).toFixed(1)} s after the restart; ${nodes} nodes recorded once, ${documents} documents indexed; ${requests} http effects, ${repeated} of them asked for twice (same key); posts met ${refused(refusals)}`,
        });
      } finally {
        await mixture.close();
      }
    },
  );
});
