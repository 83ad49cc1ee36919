import { describe, expect, it } from "vitest";
import { newWebhookSecret, signWebhook, webhookProblem } from "../../../src/domain/webhooks/webhook-signature.ts";

/** The test vector of Standard Webhooks, which its libraries use, too. */
const VECTOR = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestamp: 1_614_265_330,
  body: '{"test": 2432232314}',
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const SENT = VECTOR.timestamp * 1000;
const HEADERS = {
  "webhook-id": VECTOR.id,
  "webhook-timestamp": String(VECTOR.timestamp),
  "webhook-signature": VECTOR.signature,
};

const problem = (headers: Record<string, string | undefined> = {}, body = VECTOR.body, now = SENT): string | null =>
  webhookProblem({ ...HEADERS, ...headers }, body, VECTOR.secret, now);

describe("the signature of a delivery", () => {
  it("matches the example of Standard Webhooks", () => {
    expect(signWebhook(VECTOR, [VECTOR.secret])).toBe(VECTOR.signature);
    expect(problem()).toBeNull();
  });

  it("is made for each secret and is valid under either", () => {
    const [old, fresh] = [newWebhookSecret(), newWebhookSecret()];
    const message = { id: "evt_1", timestamp: VECTOR.timestamp, body: '{"größe":"∞"}' };
    const signature = signWebhook(message, [fresh, old]);
    expect(signature).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
    const headers = { ...HEADERS, "webhook-id": "evt_1", "webhook-signature": signature };
    expect(webhookProblem(headers, message.body, old, SENT)).toBeNull();
    expect(webhookProblem(headers, message.body, fresh, SENT)).toBeNull();
    expect(webhookProblem(headers, message.body, newWebhookSecret(), SENT)).toContain("no signature");
  });

  it("is found among others, also among those of unknown versions", () => {
    const other = "Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";
    expect(problem({ "webhook-signature": `v1,${other} v2,${other} ${VECTOR.signature} v1,${other}` })).toBeNull();
    expect(problem({ "webhook-signature": VECTOR.signature.replace("v1,", "v2,") })).toContain("no signature");
  });

  it.each([
    ["another body", {}, '{"test": 2432232315}'],
    ["another id", { "webhook-id": "msg_other" }, VECTOR.body],
    ["another time", { "webhook-timestamp": String(VECTOR.timestamp + 1) }, VECTOR.body],
    ["another signature", { "webhook-signature": "v1,dawfeoifkpqwoekfpqoekf" }, VECTOR.body],
    ["a part of the signature", { "webhook-signature": VECTOR.signature.slice(0, 8) }, VECTOR.body],
    ["no signature in it", { "webhook-signature": "v1," }, VECTOR.body],
    // Buffer.from ignores the invalid characters and would decode the same bytes.
    ["a signature without its end", { "webhook-signature": VECTOR.signature.slice(0, -1) }, VECTOR.body],
    ["a signature with more in it", { "webhook-signature": VECTOR.signature.replace("v1,", "v1,*") }, VECTOR.body],
  ])("is not valid for %s", (_, headers, body) => {
    expect(problem(headers, body)).toContain("no signature");
  });

  it.each(["webhook-id", "webhook-timestamp", "webhook-signature"])("is not valid without %s", (name) => {
    expect(problem({ [name]: undefined })).toContain("missing");
    expect(problem({ [name]: "" })).toContain("missing");
  });

  it("is valid for at most five minutes before and after its timestamp", () => {
    const minutes = 60_000;
    expect(problem({}, VECTOR.body, SENT + 5 * minutes)).toBeNull();
    expect(problem({}, VECTOR.body, SENT - 5 * minutes)).toBeNull();
    expect(problem({}, VECTOR.body, SENT + 5 * minutes + 1000)).toContain("not fresh");
    expect(problem({}, VECTOR.body, SENT - 5 * minutes - 1000)).toContain("not fresh");
    for (const time of ["hello", "-1", "1e9", "1614265330.5", " 1614265330"])
      expect(problem({ "webhook-timestamp": time })).toContain("not a time");
  });

  it("weak-key: is not accepted under a secret shorter than 24 bytes", () => {
    for (const bytes of [0, 1, 23, 24]) {
      const secret = `whsec_${Buffer.alloc(bytes, 7).toString("base64")}`;
      const headers = { ...HEADERS, "webhook-signature": signWebhook(VECTOR, [secret]) };
      const found = webhookProblem(headers, VECTOR.body, secret, SENT);
      if (bytes < 24) expect(found).toContain("too short");
      else expect(found).toBeNull();
    }
  });

  it("uses a secret of 32 random bytes", () => {
    const secrets = Array.from({ length: 100 }, newWebhookSecret);
    expect(new Set(secrets).size).toBe(100);
    for (const secret of secrets) {
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(Buffer.from(secret.slice(6), "base64")).toHaveLength(32);
    }
  });
});
