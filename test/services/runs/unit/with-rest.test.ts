import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { withRest } from "../../../../src/services/runs/with-rest.ts";

async function timeOf(startMs: number): Promise<number> {
  const since = performance.now();
  await withRest(() => delay(startMs));
  return performance.now() - since;
}

it("rests as long as a start took, and no longer than a tenth of a second", async () => {
  expect(await timeOf(40)).toBeGreaterThanOrEqual(75);
  const tookMs = await timeOf(600);
  expect(tookMs).toBeGreaterThanOrEqual(690);
  expect(tookMs).toBeLessThan(1100);
});
