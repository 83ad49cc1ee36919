import { uuidv7 } from "uuidv7";
import { describe, expect, it } from "vitest";
import { bucketsOf, hasLabels, isSampled, monitorFilterSchema } from "../../../src/domain/evals/monitor.ts";

describe("a monitor's sample", () => {
  const ids = Array.from({ length: 10_000 }, uuidv7);

  it("is deterministic, close to its rate, and part of the sample of any higher rate", () => {
    const sample = (rate: number): string[] => ids.filter((id) => isSampled(id, rate));
    expect(sample(0.1)).toEqual(sample(0.1));
    // Within six standard deviations.
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
  ])("%j matches: %s", (asked, met) => {
    const filter = monitorFilterSchema.parse(asked);
    expect(hasLabels(filter, labels)).toBe(met);
    expect(hasLabels(filter, undefined)).toBe(Object.keys(asked).length === 0);
  });
});

describe("buckets", () => {
  it("are whole hours, days and weeks in UTC, at most 1000", () => {
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
    // The week begins on a Monday.
    expect(times("2030-01-02T00:00:00Z", "2030-01-03T00:00:00Z", "week")).toEqual(["2029-12-31T00:00:00.000Z"]);
    const hours = (count: number) => bucketsOf(0, count * 3_600_000, "hour")?.length;
    expect([hours(1000), hours(1001)]).toEqual([1000, undefined]);
  });
});
