import { describe, expect, it } from "vitest";
import { generateApiKey, generateToken } from "../../src/platform/secrets/crypto.ts";
import {
  isSecretHeader,
  isSecretName,
  redactJson,
  redactSecrets,
  redactUrl,
} from "../../src/platform/logging/redaction.ts";

const SECRET = "hunter2xyz";

describe("secret-in-error: redactSecrets", () => {
  it("masks keys and tokens of ours and keeps their kind readable", () => {
    for (const { value } of [
      generateApiKey("public"),
      generateApiKey("secret"),
      generateToken("access"),
      generateToken("refresh"),
    ]) {
      const clean = redactSecrets(`The key ${value} is revoked`);
      expect(clean).toMatch(/^The key mr_(pub|sec|at|rt)_\[redacted\] is revoked$/);
    }
    expect(redactSecrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).toBe("whsec_[redacted]");
  });

  it.each([
    `Bearer ${SECRET}`,
    `Authorization: Bearer ${SECRET}`,
    `authorization: ${SECRET}`,
    `authorization=Digest username="x", response=${SECRET}`.replace(/"x", /, "x "),
    `Basic ${Buffer.from(`user:${SECRET}`).toString("base64")}`,
    `Cookie: theme=dark; sid=${SECRET}`,
    `https://user:${SECRET}@example.com/`,
    `postgres://millrace:${SECRET}@db:5432/x`,
    `https://user:p@${SECRET}@example.com/`,
    `GET /?password=${SECRET}&a=1`,
    `https://example.com/?a=1&key=${SECRET}`,
    `https://example.com/?access_token=${SECRET}#x`,
    `DB_PASSWORD=${SECRET}`,
    `client-secret => ${SECRET}`,
    `{"password" : "a\\"${SECRET}"}`,
    `{"body":"{\\"token\\":\\"${SECRET}\\"}"}`,
    `x-api-key: ${SECRET}`,
    `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${SECRET}`,
    `was given token-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${SECRET}`,
    `sk-proj-abcdefghij-${SECRET}`,
    `ghp_abcdefghijklmnopqrst${SECRET}`,
    `-----BEGIN RSA PRIVATE KEY-----\nMIIE${SECRET}\n-----END RSA PRIVATE KEY-----`,
    `-----BEGIN PRIVATE KEY-----\nMIIE${SECRET} cut`,
  ])("leaves nothing of the secret in %j", (text) => {
    const clean = redactSecrets(text);
    expect(clean).toContain("[redacted]");
    expect(clean).not.toContain(SECRET);
    expect(clean).not.toContain(Buffer.from(`user:${SECRET}`).toString("base64"));
  });

  it.each([
    "The node took longer than 60000 ms",
    "Unexpected token < in JSON at position 4",
    "max_tokens: 256, total_tokens=1024, tokenizer: cl100k",
    "The author: Ann, the secretary: Bob",
    "Basic usage of the bearer protocol; a Bearer token is needed",
    "http://example.com/users/7?page=2&key_order=asc&status=500",
    "mail ann@example.com",
    '{"token":null,"password":true,"cookies":[]}',
    "idempotency_key: 0190a5b4-run-node",
    "",
  ])("leaves %j as it is", (text) => {
    expect(redactSecrets(text)).toBe(text);
  });

  it("keeps JSON readable as JSON", () => {
    const line = JSON.stringify({
      msg: `failed with "password": "${SECRET}" and Bearer ${SECRET}`,
      url: `https://u:${SECRET}@example.com/?token=${SECRET}`,
      password: `quo"te\\${SECRET}`,
      token: 12345,
      secret: { inner: [`Authorization: Basic ${SECRET}`] },
      key: "-----BEGIN PRIVATE KEY-----\nMIIE",
      nested: JSON.stringify({ api_key: SECRET, deeper: JSON.stringify({ token: SECRET }) }),
    });
    const clean = redactSecrets(line);
    expect(() => JSON.parse(clean) as unknown).not.toThrow();
    expect(clean).not.toContain(SECRET);
    expect(clean).not.toContain("12345");
  });

  it("is the same when done twice", () => {
    const once = redactSecrets(
      `Authorization: Bearer ${SECRET}\npassword=${SECRET} "token":"${SECRET}" https://u:p@x/?key=${SECRET}`,
    );
    expect(redactSecrets(once)).toBe(once);
  });

  it.each([
    "a-",
    "token",
    "password",
    "://",
    "Bearer ",
    '"password":"',
    "\\",
    "auth=",
    "-----BEGIN PRIVATE KEY-----",
    "mr_se",
    "eyJaaaaaaaa.",
    "-eyJaaaaaaaa",
    "eyJ-eyJ-eyJaaaaaaaa",
  ])("regex-dos: takes linear time on %j over and over", (piece) => {
    const started = performance.now();
    redactSecrets(piece.repeat(Math.ceil(300_000 / piece.length)));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

describe("redactJson", () => {
  it("masks members by name, with any value, and scrubs the rest", () => {
    expect(
      redactJson({
        user: "ann",
        password: SECRET,
        api_key: 5,
        list: [{ token: { a: 1 } }, `Bearer ${SECRET}`],
        max_tokens: 5,
        secret: null,
      }),
    ).toEqual({
      user: "ann",
      password: "[redacted]",
      api_key: "[redacted]",
      list: [{ token: "[redacted]" }, "Bearer [redacted]"],
      max_tokens: 5,
      secret: null,
    });
  });

  it("masks what is nested too deep, and keeps __proto__ a plain member", () => {
    let deep: unknown = SECRET;
    for (let i = 0; i < 10_000; i += 1) deep = [deep];
    expect(JSON.stringify(redactJson(deep as never))).not.toContain(SECRET);
    const odd = redactJson(JSON.parse('{"__proto__":{"password":"x"}}') as never);
    expect(JSON.stringify(odd)).toBe('{"__proto__":{"password":"[redacted]"}}');
  });
});

describe("names", () => {
  it.each([
    "Authorization",
    "X-Api-Key",
    "apiKey",
    "client_secret",
    "refresh_token",
    "Set-Cookie",
    "X-Hub-Signature-256",
    "x-auth",
  ])("%s is secret", (name) => expect(isSecretName(name)).toBe(true));
  it.each(["name", "author", "tokens", "max_tokens", "key", "Idempotency-Key", "Content-Type"])("%s is not", (name) =>
    expect(isSecretName(name)).toBe(false),
  );
  it("counts headers called a key, but for Idempotency-Key", () => {
    expect(["X-Functions-Key", "Key"].map(isSecretHeader)).toEqual([true, true]);
    expect(["Idempotency-Key", "Accept"].map(isSecretHeader)).toEqual([false, false]);
  });
});

describe("redactUrl", () => {
  it("masks user, password and secret parameters and keeps the rest", () => {
    expect(redactUrl(`https://u:${SECRET}@example.com/a?page=2&token=${SECRET}&token=${SECRET}&sig=${SECRET}#x`)).toBe(
      "https://example.com/a?page=2&token=[redacted]&sig=[redacted]#x",
    );
    expect(redactUrl("https://example.com/a?q=a%20b")).toBe("https://example.com/a?q=a%20b");
    expect(redactUrl(`no url, password=${SECRET}`)).toBe("no url, password=[redacted]");
  });
});
