import { uuidv7 } from "uuidv7";
import { describe, expect, it } from "vitest";
import { bucketsOf, hasLabels, isSampled, monitorFilterSchema } from "../../../src/domain/evals/monitor.ts";

describe("a sample", () => {
  const ids = Array.from({ length: 10_000 }, uuidv7);

  it("is the same whenever it is asked for, about as large as its rate, and within that of a larger rate", () => {
    const sample = (rate: number): string[] => ids.filter((id) => isSampled(id, rate));
    expect(sample(0.1)).toEqual(sample(0.1));
    // Six standard deviations.
    expect(Math.abs(sample(0.1).length - 1000)).toBeLessThan(180);
    expect(sample(0.1).every((id) => isSampled(id, 0.3))).toBe(true);
    expect([sample(0).length, sample(1).length]).toEqual([0, ids.length]);
  });
});

describe("a filter by labels", () => {
  const labels = { user_id: "ada", tags: ["a", "b"], metadata: { shop: 7, open: true } };
  it.each([
    [{ tags: ["a", "b"] }, true],
    [{ tags: ["a", "c"] }, false],
    [{ user_ids: ["bob", "ada"] }, true],
    [{ user_ids: ["bob"] }, false],
    [{ metadata: { shop: 7, open: true } }, true],
    [{ metadata: { shop: 7, open: false } }, false],
    [{ metadata: { shop: "7" } }, false],
    [{ tags: ["a"], user_ids: ["bob"] }, false],
    [{}, true],
  ])("%j is met: %s", (asked, met) => {
    const filter = monitorFilterSchema.parse(asked);
    expect(hasLabels(filter, labels)).toBe(met);
    expect(hasLabels(filter, undefined)).toBe(Object.keys(asked).length === 0);
  });
});

describe("buckets", () => {
  it("are whole hours, days and weeks of UTC, and not too many", () => {
    const times = (from: string, to: string, granularity: "hour" | "day" | "week") =>
      bucketsOf(Date.parse(from), Date.parse(to), granularity)?.map(([start]) => new Date(start).toISOString());
    expect(times("2030-01-01T10:20:00Z", "2030-01-01T12:00:00Z", "hour")).toEqual([
      "2030-01-01T10:00:00.000Z",
      "2030-01-01T11:00:00.000Z",
    ]);
    expect(times("2030-01-01T10:20:00Z", "2030-01-02T00:00:01Z", "day")).toEqual([
      "2030-01-01T00:00:00.000Z",
      "2030-01-02T00:00:00.000Z",
    ]);
    // A Monday.
    expect(times("2030-01-02T00:00:00Z", "2030-01-03T00:00:00Z", "week")).toEqual(["2029-12-31T00:00:00.000Z"]);
    expect(times("2020-01-01T00:00:00Z", "2030-01-03T00:00:00Z", "hour")).toBeUndefined();
  });
});
