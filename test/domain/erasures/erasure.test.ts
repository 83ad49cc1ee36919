import { expect, it } from "vitest";
import {
  ERASURE_STEPS,
  FIRST_PROGRESS,
  nextProgress,
  type ErasureProgress,
  type ErasureSlice,
} from "../../../src/domain/erasures/erasure.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
const QUIET_MS = 10_000;

function next(progress: ErasureProgress, slice: ErasureSlice, ms = 0): ErasureProgress {
  const after = nextProgress(progress, slice, { now: START + ms, quietMs: QUIET_MS });
  if (after === "end") throw new Error(`ends after ${progress.step}`);
  return after;
}

/** Progress of an erasure after a pass at `ms` whose first step finds `found` items. */
function pass(progress: ErasureProgress, ms: number, found: number): ErasureProgress {
  let at = progress;
  for (const step of ERASURE_STEPS.slice(0, ERASURE_STEPS.indexOf("histories"))) {
    expect(at.step).toBe(step);
    at = next(at, { after: null, found: step === "runs" ? found : 0 }, ms);
  }
  return at;
}

it("passes repeat until no data has been found for as long as cancelled runs may still write", () => {
  const first = pass(FIRST_PROGRESS, 0, 3);
  expect(first.step).toBe("runs");
  const early = pass(first, QUIET_MS - 1, 0);
  expect(early.step).toBe("runs");
  // A finding restarts the wait.
  const more = pass(early, QUIET_MS, 1);
  const again = pass(more, 2 * QUIET_MS - 1, 0);
  expect(again.step).toBe("runs");
  expect(pass(again, 2 * QUIET_MS, 0).step).toBe("histories");
});

it("an erasure of a user without data does not wait", () => {
  expect(pass(FIRST_PROGRESS, 0, 0).step).toBe("histories");
});

it("a step continues after its last page and is told that earlier pages found data", () => {
  const found = { found: true, found_at: "2026-01-01T00:00:00.000Z" };
  expect(next(FIRST_PROGRESS, { after: "row-9", found: 2 })).toEqual({ step: "runs", after: "row-9", ...found });
  const again = next(FIRST_PROGRESS, { after: null, again: true, found: 2 });
  expect(again).toEqual({ step: "runs", after: null, ...found });
});

it("an erasure ends after the last blobs", () => {
  const blobs: ErasureProgress = { ...FIRST_PROGRESS, step: "blobs" };
  expect(next(blobs, { after: null, again: true, found: 0 }).step).toBe("blobs");
  expect(() => next(blobs, { after: null, found: 0 })).toThrow("ends after blobs");
});
