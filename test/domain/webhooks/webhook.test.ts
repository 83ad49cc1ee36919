import { retryAfterMs } from "../../../src/domain/retry-after.ts";
import { describe, expect, it } from "vitest";
import {
  DEFAULT_WEBHOOK_SCHEDULE_MS,
  headerProblems,
  verdictOf,
  type AttemptResult,
} from "../../../src/domain/webhooks/webhook.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const never = (): number => 0;

function result(status_code: number | null, retry_after_ms: number | null = null): AttemptResult {
  return {
    at: "2026-01-02T03:04:05.678Z",
    duration_ms: 12,
    url: "https://receiver.example/",
    ok: status_code !== null && status_code >= 200 && status_code < 300,
    status_code,
    error_code: null,
    error_message: null,
    response_body: null,
    retry_after_ms,
  };
}
const verdict = (status: number | null, tries = 1, retryAfter: number | null = null, random = never) =>
  verdictOf(result(status, retryAfter), tries, DEFAULT_WEBHOOK_SCHEDULE_MS, random);

describe("the outcome of a delivery", () => {
  it("is success after a 2xx", () => {
    for (const status of [200, 201, 202, 204, 299])
      expect(verdict(status)).toEqual({ status: "delivered", failure_reason: null, delay_ms: null, hold_ms: null });
  });

  it("is failure after a 410, which also disables the webhook", () => {
    expect(verdict(410)).toEqual({ status: "failed", failure_reason: "gone", delay_ms: null, hold_ms: null });
  });

  it.each([null, 301, 302, 307, 400, 401, 404, 408, 429, 500, 503])("is a retry after %s", (status) => {
    expect(verdict(status)).toEqual({ status: "retrying", failure_reason: null, delay_ms: 5000, hold_ms: null });
  });

  it("is a retry for up to ten attempts, by the schedule of Standard Webhooks", () => {
    const delays = Array.from({ length: 10 }, (_, index) => verdict(500, index + 1).delay_ms);
    expect(delays).toEqual([
      5000,
      5 * MINUTE,
      30 * MINUTE,
      2 * HOUR,
      5 * HOUR,
      10 * HOUR,
      14 * HOUR,
      20 * HOUR,
      24 * HOUR,
      null,
    ]);
    expect(verdict(500, 10)).toMatchObject({ status: "failed", failure_reason: "attempts_exhausted" });
  });

  it("delays a retry by up to a fifth more, so that deliveries that failed together do not retry together", () => {
    expect(verdict(500, 1, null, () => 1).delay_ms).toBe(6000);
    expect(verdict(500, 1, null, () => 0.5).delay_ms).toBe(5500);
  });

  it("delays a retry as long as the receiver asks, and no less than the schedule says", () => {
    expect(verdict(503, 1, 60_000).delay_ms).toBe(60_000);
    expect(verdict(500, 1, 60_000).delay_ms).toBe(60_000);
    expect(verdict(503, 2, 1000).delay_ms).toBe(5 * MINUTE);
    expect(verdict(503, 1, 1000 * HOUR).delay_ms).toBe(24 * HOUR);
  });

  it("pauses deliveries to an overloaded receiver, for at most an hour", () => {
    expect(verdict(503, 1, 60_000).hold_ms).toBe(60_000);
    expect(verdict(429, 1, 5 * HOUR).hold_ms).toBe(HOUR);
    expect(verdict(429, 1, 0).hold_ms).toBeNull();
    expect(verdict(500, 1, 60_000).hold_ms).toBeNull();
    expect(verdict(503, 10, 60_000)).toMatchObject({ status: "failed", hold_ms: 60_000 });
  });
});

describe("Retry-After", () => {
  const now = Date.parse("2026-11-06T08:49:37Z");

  it("is read as seconds or as an HTTP date", () => {
    expect(retryAfterMs("120", now)).toBe(120_000);
    expect(retryAfterMs(" 0 ", now)).toBe(0);
    expect(retryAfterMs("Fri, 06 Nov 2026 08:50:37 GMT", now)).toBe(60_000);
    expect(retryAfterMs("Fri, 06 Nov 2026 08:00:00 GMT", now)).toBe(0);
  });

  it("is limited to a day, however many digits it has", () => {
    expect(retryAfterMs("86401", now)).toBe(24 * HOUR);
    expect(retryAfterMs("9999999999", now)).toBe(24 * HOUR);
    expect(retryAfterMs("9".repeat(400), now)).toBe(24 * HOUR);
  });

  it.each([undefined, "", "soon", "-5", "1.5", "1e3", "2026-11-06T08:50:37Z", "tomorrow 08:50"])(
    "is ignored when it is %s",
    (header) => {
      expect(retryAfterMs(header, now)).toBeNull();
    },
  );
});

describe("the custom headers of a webhook", () => {
  it("may be any but the ones that the delivery itself sets", () => {
    expect(headerProblems({ authorization: "Bearer x", "x-api-key": "y" })).toEqual([]);
    const ours = [
      "Webhook-Id",
      "webhook-signature",
      "Content-Type",
      "content-length",
      "Accept-Encoding",
      "User-Agent",
      "Host",
      "Forwarded",
      "X-Forwarded-For",
    ];
    for (const name of ours)
      expect(headerProblems({ [name]: "x" })).toEqual([{ name, problem: expect.stringContaining("set by Millrace") }]);
  });

  it("are at most 20, with at most 4096 characters in all", () => {
    const headers = (count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, "v"]));
    expect(headerProblems(headers(20))).toEqual([]);
    expect(headerProblems(headers(21))).toEqual([{ name: "", problem: expect.stringContaining("20") }]);
    expect(headerProblems({ "x-a": "v".repeat(4093) })).toEqual([]);
    expect(headerProblems({ "x-a": "v".repeat(4094) })).toEqual([
      { name: "", problem: expect.stringContaining("4096") },
    ]);
  });
});
