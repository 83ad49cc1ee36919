import { describe, expect, it } from "vitest";
import { checkGates, verdictOf, type ExperimentStatus, type Gate } from "../../../src/domain/evals/experiment.ts";
import { confidenceInterval, studentQuantile } from "../../../src/domain/evals/statistics.ts";

describe("the quantile of Student's t", () => {
  // Values of the 0.975 column, table 1.3.6.7.2, NIST/SEMATECH e-Handbook of Statistical Methods.
  it.each([
    [1, 12.706],
    [2, 4.303],
    [3, 3.182],
    [4, 2.776],
    [5, 2.571],
    [6, 2.447],
    [7, 2.365],
    [8, 2.306],
    [9, 2.262],
    [10, 2.228],
    [15, 2.131],
    [20, 2.086],
    [30, 2.042],
    [40, 2.021],
    [60, 2.0],
    [100, 1.984],
    [1_000_000, 1.96],
  ])("with %i degrees of freedom is %f", (df, published) => {
    expect(studentQuantile(df)).toBeCloseTo(published, 3);
  });

  it("gives the published confidence interval of a mean", () => {
    // NIST/SEMATECH 1.3.5.2, ZARR13.DAT: n 195, mean 9.261460, standard deviation 0.02278881.
    const [low = 0, high = 0] = confidenceInterval({ n: 195, mean: 9.261_46, stddev: 0.022_788_81 }) ?? [];
    expect(low).toBeCloseTo(9.258_242, 5);
    expect(high).toBeCloseTo(9.264_679, 5);
    // With six values: 2.571, from the table above for five degrees of freedom.
    expect(confidenceInterval({ n: 6, mean: 0, stddev: Math.sqrt(6) })?.[1]).toBeCloseTo(2.571, 3);
    expect(confidenceInterval({ n: 1, mean: 1, stddev: null })).toBeNull();
  });
});

describe("gates", () => {
  const status = (mean: number | null, failed = 0): ExperimentStatus => ({
    counts: { rows: 10, pending: 0, running: 0, completed: 10 - failed, failed, cancelled: 0 },
    scores: { expected: 10, done: 10, errored: 0, unscored: 0 },
    per_evaluator: [
      {
        evaluator_id: "e",
        evaluator_version: 1,
        name: "E",
        n: 10,
        mean,
        median: mean,
        stddev: 0,
        ci95: null,
        pass_rate: mean,
        passed: (mean ?? 0) * 10,
        errors: 0,
        expected: 10,
        unscored: 0,
        baseline: null,
      },
    ],
    usage: { total_tokens: 0, cost_usd: 0.3 },
    p95_latency_ms: 120,
    unrun: 0,
  });
  /** Ten scores: `passes` pass and `unscored` are missing. */
  const lacking = (passes: number, unscored: number): ExperimentStatus => {
    const all = status(1);
    const [evaluator] = all.per_evaluator;
    const pass_rate = unscored === 10 ? null : passes / (10 - unscored);
    return evaluator === undefined
      ? all
      : { ...all, per_evaluator: [{ ...evaluator, passed: passes, unscored, pass_rate }] };
  };
  const gate = (rest: Partial<Gate>): Gate => ({
    metric: "mean",
    evaluator_id: "e",
    op: "gte",
    value: 0,
    vs: "absolute",
    ...rest,
  });
  const passed = (rest: Partial<Gate>, own = status(0.7), other: ExperimentStatus | null = status(0.8)) =>
    checkGates([gate(rest)], own, other)[0]?.passed;

  it("compare the observed value or its difference from the baseline", () => {
    expect(passed({ value: 0.7 })).toBe(true);
    expect(passed({ op: "gt", value: 0.7 })).toBe(false);
    expect(passed({ op: "lt", value: 0.7 })).toBe(false);
    expect(passed({ op: "lte", metric: "p95_latency_ms", value: 119 })).toBe(false);
    expect(passed({ op: "lt", metric: "cost_usd", value: 0.31 })).toBe(true);
    expect(passed({ op: "lte", metric: "error_rate", value: 0.2 }, status(1, 2))).toBe(true);
    const cancelled = { ...status(1, 2), counts: { ...status(1, 2).counts, completed: 6, cancelled: 2 } };
    expect(passed({ op: "lte", metric: "error_rate", value: 0.2 }, cancelled)).toBe(true);
    expect(passed({ vs: "baseline", value: -0.1 })).toBe(true);
    expect(passed({ vs: "baseline", value: -0.05 })).toBe(false);
    expect(passed({ vs: "baseline", value: 0 }, status(0.7), null)).toBeNull();
    expect(passed({}, status(null))).toBeNull();
    const none = { ...status(1), counts: { ...status(1).counts, completed: 0, pending: 10 } };
    expect(passed({ op: "lte", metric: "error_rate", value: 0.2 }, none)).toBeNull();
  });

  it("count missing scores as the worst outcome", () => {
    const rate = (rest: Partial<Gate>, own: ExperimentStatus) =>
      checkGates([gate({ metric: "pass_rate", ...rest })], own, null).map((each) => [each.observed, each.passed])[0];
    expect(rate({ op: "gte", value: 1 }, lacking(1, 9))).toEqual([0.1, false]);
    expect(rate({ op: "gt", value: 0.1 }, lacking(1, 9))).toEqual([0.1, false]);
    expect(rate({ op: "lte", value: 0.5 }, lacking(0, 9))).toEqual([0.9, false]);
    expect(rate({ op: "lt", value: 0.5 }, lacking(0, 9))).toEqual([0.9, false]);
    expect(rate({ op: "eq", value: 0 }, lacking(0, 9))).toEqual([0.9, false]);
    expect(rate({ op: "eq", value: 1 }, lacking(1, 9))).toEqual([0.1, false]);
    expect(rate({ op: "gte", value: 0.1 }, lacking(0, 10))).toEqual([0, false]);
    // An evaluator without verdicts has no pass rate.
    expect(rate({}, status(null))).toEqual([null, null]);
    expect(passed({ op: "gte", value: 0.5 }, lacking(9, 1))).toBeNull();
    expect(passed({ op: "gte", value: 1.5 }, lacking(9, 1))).toBe(false);
    expect(passed({ vs: "baseline", op: "gte", value: -1 }, status(1), lacking(9, 1))).toBeNull();
    expect(passed({ op: "lt", metric: "cost_usd", value: 1 }, { ...status(1), unrun: 1 })).toBeNull();
    expect(passed({ op: "lt", metric: "p95_latency_ms", value: 999 }, { ...status(1), unrun: 1 })).toBeNull();
  });

  it("pass against a baseline only if they pass for every possible value of its missing scores", () => {
    const against = (rest: Partial<Gate>, own: ExperimentStatus, other: ExperimentStatus) =>
      passed({ metric: "pass_rate", vs: "baseline", ...rest }, own, other);
    // In the baseline two of ten rows passed, and eight have no score.
    expect(against({ op: "gte", value: 0 }, lacking(5, 0), lacking(2, 8))).toBeNull();
    expect(against({ op: "gte", value: 0 }, lacking(10, 0), lacking(2, 8))).toBe(true);
    expect(against({ op: "gte", value: 0 }, lacking(1, 0), lacking(2, 8))).toBe(false);
    expect(against({ op: "gt", value: 0 }, lacking(10, 0), lacking(2, 8))).toBeNull();
    expect(against({ op: "lte", value: 0 }, lacking(5, 0), lacking(2, 8))).toBeNull();
    expect(against({ op: "lt", value: 0.9 }, lacking(10, 0), lacking(2, 8))).toBe(true);
    expect(against({ op: "lte", value: -0.5 }, lacking(10, 0), lacking(2, 8))).toBe(false);
    expect(against({ op: "eq", value: 0 }, lacking(5, 0), lacking(2, 8))).toBeNull();
    expect(against({ op: "eq", value: 0 }, lacking(5, 0), lacking(5, 0))).toBe(true);
    expect(against({ op: "eq", value: 0.3 }, lacking(5, 0), lacking(2, 1))).toBeNull();
    expect(against({ op: "eq", value: 0.2 }, lacking(5, 0), lacking(2, 2))).toBeNull();
    expect(against({ op: "eq", value: -0.2 }, lacking(5, 0), lacking(2, 2))).toBe(false);
    // Missing scores of the experiment itself still count as failed.
    expect(against({ op: "gte", value: 0 }, lacking(1, 9), lacking(2, 0))).toBe(false);
    expect(against({ op: "gte", value: 0 }, lacking(2, 8), lacking(2, 8))).toBeNull();
    for (const metric of ["cost_usd", "p95_latency_ms"] as const) {
      for (const value of [1000, -1000]) {
        const rest = { vs: "baseline", op: "lte", metric, value } as const;
        expect(passed(rest, status(1), { ...status(1), unrun: 1 })).toBeNull();
        expect(passed(rest, status(1), status(1))).toBe(value > 0);
        expect(passed({ ...rest, vs: "absolute" }, status(1), { ...status(1), unrun: 1 })).toBe(value > 0);
      }
    }
  });

  it("pass an experiment only if it is complete and every gate is met", () => {
    const met = checkGates([gate({ value: 0.5 })], status(0.7), null);
    const missed = checkGates([gate({ value: 0.9 })], status(0.7), null);
    const unknown = checkGates([gate({})], status(null), null);
    expect(verdictOf("COMPLETED", met)).toBe("passed");
    expect(verdictOf("PARTIAL", met)).toBe("inconclusive");
    expect(verdictOf("PARTIAL", missed)).toBe("failed");
    expect(verdictOf("COMPLETED", [...met, ...unknown])).toBe("inconclusive");
    expect(verdictOf("CANCELLED", missed)).toBe("inconclusive");
    expect(verdictOf("COMPLETED", [])).toBeNull();
  });
});
