import { describe, expect, it } from "vitest";
import { webhookProblem } from "../../../../src/domain/webhooks/webhook-signature.ts";
import type { GuardedFetch, GuardedRequest, GuardedResponse } from "../../../../src/platform/fetch/guarded-fetch.ts";
import { createSecretBox, generateMasterKey, parseMasterKey } from "../../../../src/platform/secrets/seal.ts";
import type { DeliveryJob } from "../../../../src/stores/webhooks/attempts.ts";
import { createSendDelivery } from "../../../../src/services/webhooks/send.ts";
import { sealSecret } from "../../../../src/services/webhooks/subscription-secrets.ts";

const box = createSecretBox([parseMasterKey(generateMasterKey()) ?? Buffer.alloc(32)]);
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const job: DeliveryJob = {
  delivery_id: "0197f0a0-0000-7000-8000-000000000001",
  org_id: "0197f0a0-0000-7000-8000-000000000002",
  subscription_id: "0197f0a0-0000-7000-8000-000000000003",
  round: 1,
  tries: 0,
  claim: 1,
  event: { type: "webhook.test", project_id: null, data: {}, occurred_at: "2030-01-31T12:00:00.000Z" },
  event_id: "0197f0a0-0000-7000-8000-000000000004",
  url: "https://example.com/hooks",
  secret: sealSecret(box, "0197f0a0-0000-7000-8000-000000000003", SECRET),
  previous_secret: null,
  headers: null,
};

/** The request that is sent, and what is stored of the response. */
async function sent(answer: Partial<GuardedResponse>, over: Partial<DeliveryJob> = {}) {
  const requests: GuardedRequest[] = [];
  const send = createSendDelivery({
    guardedFetch: {
      fetch: async (request) => {
        requests.push(request);
        return {
          status: 200,
          headers: {},
          body: Buffer.from(""),
          truncated: false,
          url: job.url,
          ...answer,
        };
      },
    },
    box,
    timeoutMs: 1000,
    publicUrl: "",
    version: "1",
    onFault: expect.fail,
  });
  const result = await send({ ...job, ...over }, new AbortController().signal);
  return { result, request: requests[0] ?? expect.fail() };
}

describe("a delivery attempt", () => {
  it("is also signed with the old secret during the grace period, and follows no redirect", async () => {
    const old = "whsec_" + Buffer.alloc(32, 7).toString("base64");
    const { request } = await sent({}, { previous_secret: sealSecret(box, job.subscription_id, old) });
    const headers = request.headers as Record<string, string>;
    for (const secret of [SECRET, old]) expect(webhookProblem(headers, request.body as string, secret)).toBe(null);
    expect(request).toMatchObject({ redirects: 0, limits: { totalMs: 1000 } });
    expect((await sent({ status: 302 })).result).toMatchObject({ ok: false, error_code: "redirect" });
  });

  it("keeps the beginning of a response, in whole characters and without the secret", async () => {
    const body = Buffer.from(`${SECRET} ${SECRET.slice(6)} ${"😀".repeat(2000)}`);
    const { response_body: kept } = (await sent({ body })).result;
    expect(kept).not.toContain(SECRET.slice(6));
    expect([...(kept ?? "")]).toHaveLength(1024);
    expect(kept?.endsWith("😀")).toBe(true);
  });
});

describe("a delivery attempt with an internal error", () => {
  it("refers to the log and logs the error", async () => {
    const mistake = new TypeError("undefined is not a function");
    const told: unknown[] = [];
    const broken: GuardedFetch["fetch"] = () => Promise.reject(mistake);
    const send = createSendDelivery({
      guardedFetch: { fetch: broken },
      box,
      timeoutMs: 1000,
      publicUrl: "",
      version: "1",
      onFault: (error, { delivery_id }) => told.push([error, delivery_id]),
    });
    const result = await send(job, new AbortController().signal);
    expect(result).toMatchObject({ ok: false, status_code: null, error_code: "internal_error" });
    expect(told).toEqual([[mistake, job.delivery_id]]);
  });
});
