import { describe, expect, it } from "vitest";
import type { GuardedFetch } from "../../../../src/platform/fetch/guarded-fetch.ts";
import { createSecretBox, generateMasterKey, parseMasterKey } from "../../../../src/platform/secrets/seal.ts";
import type { DeliveryJob } from "../../../../src/stores/webhooks/attempts.ts";
import { createSendDelivery } from "../../../../src/services/webhooks/send.ts";
import { sealSecret } from "../../../../src/services/webhooks/subscription-secrets.ts";

const box = createSecretBox([parseMasterKey(generateMasterKey()) ?? Buffer.alloc(32)]);
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
  secret: sealSecret(box, "0197f0a0-0000-7000-8000-000000000003", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
  previous_secret: null,
  headers: null,
};

describe("an attempt that fails for a reason of ours", () => {
  it("says that the log has it, and tells the log", async () => {
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
