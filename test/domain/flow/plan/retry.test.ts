import { describe, expect, it } from "vitest";
import { retryDelayMs } from "../../../../src/domain/flow/plan/retry.ts";

const retry = { max_attempts: 9, initial_interval_ms: 100, backoff: 3, max_interval_ms: 1000 };

describe("the wait before the next attempt", () => {
  it("grows with each failed attempt, from the first interval to the longest", () => {
    expect([1, 2, 3, 4, 5].map((failed) => retryDelayMs({ retry }, failed))).toEqual([100, 300, 900, 1000, 1000]);
  });

  it("is at least what the upstream service asks for, but never longer than an attempt may take", () => {
    expect(retryDelayMs({ retry, timeout_ms: 5000 }, 1, 2000)).toBe(2000);
    expect(retryDelayMs({ retry, timeout_ms: 5000 }, 1, 3_600_000)).toBe(5000);
    expect(retryDelayMs({ retry }, 1, 3_600_000)).toBe(60_000);
    expect(retryDelayMs({ retry }, 3, 200)).toBe(900);
  });
});
