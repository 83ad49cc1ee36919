import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  NO_ALERT,
  UNKNOWN_ALERT,
  alertSettingsSchema,
  nextAlert,
  type AlertSettings,
  type AlertState,
  type Observation,
} from "../../../src/domain/evals/alert.ts";

const evaluator_id = "0197f0a0-0000-7000-8000-000000000002";
const START = Date.parse("2030-01-01T00:00:00Z");
const low = {
  evaluator_id,
  metric: "mean",
  op: "lt",
  threshold: 0.8,
  recovery_threshold: 0.9,
  window_seconds: 60,
  min_samples: 2,
} as const;
const high = { ...low, metric: "error_rate", op: "gt", threshold: 0.5, recovery_threshold: null } as const;

const settings = (change: Partial<AlertSettings> = {}): AlertSettings => ({
  ...NO_ALERT,
  enabled: true,
  conditions: [low],
  ...change,
});
/** Enough samples of this value; null means no samples. */
const seen = (value: number | null): Observation => ({ value, samples: value === null ? 0 : 5 });

/** The severity for each minute, with the notice after a colon if one is sent. */
function told(alert: AlertSettings, steps: ReadonlyArray<ReadonlyArray<number | null>>): string[] {
  let state: AlertState = UNKNOWN_ALERT;
  return steps.map((values, minute) => {
    const next = nextAlert(alert, state, values.map(seen), new Date(START + minute * 60_000));
    state = next.state;
    return next.notice === null ? state.severity : `${state.severity}:${next.notice}`;
  });
}

describe("an alert", () => {
  it("notifies once when it triggers and once when it resolves at the recovery threshold", () => {
    expect(told(settings(), [[0.9], [0.79], [0.7], [0.85], [0.89], [0.9], [0.85], [0.79]])).toEqual([
      "ok",
      "alert:triggered",
      "alert",
      "alert",
      "alert",
      "ok:resolved",
      "ok",
      "alert:triggered",
    ]);
  });

  it.each([
    ["lt", "ok"],
    ["lte", "alert"],
    ["gt", "ok"],
    ["gte", "alert"],
  ] as const)("with a value equal to the threshold and the operator %s is %s", (op, severity) => {
    const condition = { ...high, op };
    expect(told(settings({ conditions: [condition] }), [[0.5]])[0]?.split(":")[0]).toBe(severity);
  });

  it.each([
    ["ignore", ["no_data", "alert:triggered", "no_data", "alert", "no_data", "ok:resolved"]],
    ["keep", ["unknown", "alert:triggered", "alert", "alert", "alert", "ok:resolved"]],
    ["alert", ["alert:triggered", "alert", "alert", "alert", "alert", "ok:resolved"]],
    ["ok", ["ok", "alert:triggered", "ok:resolved", "alert:triggered", "ok:resolved", "ok"]],
  ] as const)("without data and with no_data %s", (no_data, expected) => {
    expect(told(settings({ no_data }), [[null], [0.5], [null], [0.5], [null], [1]])).toEqual(expected);
  });

  it("keeps its recovery threshold through a period without data that it ignores", () => {
    expect(told(settings(), [[0.5], [null], [0.85], [null], [0.9]])).toEqual([
      "alert:triggered",
      "no_data",
      "alert",
      "no_data",
      "ok:resolved",
    ]);
  });

  it("has no data below the minimum number of samples, except for the sample_count metric", () => {
    const few = { value: 0.1, samples: 1 };
    expect(nextAlert(settings(), UNKNOWN_ALERT, [few], new Date(START)).state.severity).toBe("no_data");
    const count = { ...low, metric: "sample_count", threshold: 3, recovery_threshold: null } as const;
    const none = { value: 0, samples: 0 };
    expect(nextAlert(settings({ conditions: [count] }), UNKNOWN_ALERT, [none], new Date(START)).notice).toBe(
      "triggered",
    );
  });

  it("combines its conditions and skips a condition without data", () => {
    const conditions = [low, high];
    const steps = [
      [0.5, 0.1],
      [1, 0.9],
      [0.5, 0.9],
      [0.5, null],
      [1, null],
    ];
    expect(told(settings({ conditions, combine: "any" }), steps)).toEqual([
      "alert:triggered",
      "alert",
      "alert",
      "alert",
      "ok:resolved",
    ]);
    expect(told(settings({ conditions, combine: "all" }), steps)).toEqual([
      "ok",
      "ok",
      "alert:triggered",
      "alert",
      "ok:resolved",
    ]);
  });

  it("notifies again if a reminder is set, and not while it is silenced", () => {
    expect(told(settings({ renotify_seconds: 120 }), [[0.5], [0.5], [0.5], [0.5], [0.5]])).toEqual([
      "alert:triggered",
      "alert",
      "alert:reminded",
      "alert",
      "alert:reminded",
    ]);
    const silenced_until = new Date(START + 150_000).toISOString();
    // An alert that begins while silenced and lasts is reported afterwards; one that ends while silenced is not.
    expect(told(settings({ silenced_until }), [[1], [0.5], [0.5], [0.5]])).toEqual([
      "ok",
      "alert",
      "alert",
      "alert:triggered",
    ]);
    expect(told(settings({ silenced_until }), [[1], [0.5], [1], [1]])).toEqual(["ok", "alert", "ok", "ok"]);
  });

  it("accepts a recovery threshold only on the good side of the threshold", () => {
    const accepts = (condition: object): boolean => alertSettingsSchema.shape.conditions.safeParse([condition]).success;
    expect(accepts(low)).toBe(true);
    expect(accepts({ ...low, recovery_threshold: 0.7 })).toBe(false);
    expect(accepts({ ...high, recovery_threshold: 0.4 })).toBe(true);
    expect(accepts({ ...high, recovery_threshold: 0.6 })).toBe(false);
  });

  it("always alternates between triggered, reminded and resolved, for any measurements", () => {
    const value = fc.option(fc.constantFrom(0.5, 0.85, 0.95), { nil: null });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(value, value), { maxLength: 40 }),
        fc.constantFrom(...(["ignore", "keep", "alert", "ok"] as const)),
        fc.constantFrom(...(["any", "all"] as const)),
        fc.option(fc.constant(120), { nil: null }),
        fc.option(fc.nat({ max: 30 }), { nil: null }),
        (steps, no_data, combine, renotify_seconds, silent) => {
          const silenced_until = silent === null ? null : new Date(START + silent * 60_000).toISOString();
          const conditions = [low, { ...high, recovery_threshold: 0.4 }];
          const answers = told(settings({ conditions, no_data, combine, renotify_seconds, silenced_until }), steps);
          let open = false;
          for (const [minute, answer] of answers.entries()) {
            const [severity, notice] = answer.split(":");
            if (silent !== null && minute < silent) expect(notice).toBeUndefined();
            if (notice === "triggered") expect([open, severity]).toEqual([false, "alert"]);
            if (notice === "reminded") expect([open, severity, renotify_seconds]).toEqual([true, "alert", 120]);
            if (notice === "resolved") expect([open, severity]).toEqual([true, "ok"]);
            if (notice !== undefined) open = notice !== "resolved";
            // The last notice matches the measurement, unless the alert is silenced.
            if ((silent === null || minute >= silent) && severity === "alert") expect(open).toBe(true);
            if ((silent === null || minute >= silent) && severity === "ok") expect(open).toBe(false);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
