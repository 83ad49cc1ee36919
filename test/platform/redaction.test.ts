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
  it("masks Millrace keys and tokens and keeps their kind readable", () => {
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
  ])("leaves no part of the secret in %j", (text) => {
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
  ])("leaves %j unchanged", (text) => {
    expect(redactSecrets(text)).toBe(text);
  });

  it("keeps JSON parseable", () => {
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

  it("returns the same text when applied twice", () => {
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
  ])("regex-dos: takes linear time on %j repeated", (piece) => {
    const started = performance.now();
    redactSecrets(piece.repeat(Math.ceil(300_000 / piece.length)));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

describe("redactJson", () => {
  it("masks secret fields by name, whatever their value, and redacts the other texts", () => {
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

  it("masks values that are nested too deep, and keeps __proto__ a plain field", () => {
    let deep: unknown = SECRET;
    for (let i = 0; i < 10_000; i += 1) deep = [deep];
    expect(JSON.stringify(redactJson(deep as never))).not.toContain(SECRET);
    const odd = redactJson(JSON.parse('{"__proto__":{"password":"x"}}') as never);
    expect(JSON.stringify(odd)).toBe('{"__proto__":{"password":"[redacted]"}}');
  });
});

describe("secret names", () => {
  it.each([
    "Authorization",
    "X-Api-Key",
    "apiKey",
    "client_secret",
    "refresh_token",
    "Set-Cookie",
    "X-Hub-Signature-256",
    "x-auth",
  ])("include %s", (name) => expect(isSecretName(name)).toBe(true));
  it.each(["name", "author", "tokens", "max_tokens", "key", "Idempotency-Key", "Content-Type"])(
    "do not include %s",
    (name) => expect(isSecretName(name)).toBe(false),
  );
  it("include headers that end in key, except Idempotency-Key", () => {
    expect(["X-Functions-Key", "Key"].map(isSecretHeader)).toEqual([true, true]);
    expect(["Idempotency-Key", "Accept"].map(isSecretHeader)).toEqual([false, false]);
  });
});

describe("redactUrl", () => {
  it("masks user, password and secret parameters, and keeps the rest", () => {
    expect(redactUrl(`https://u:${SECRET}@example.com/a?page=2&token=${SECRET}&token=${SECRET}&sig=${SECRET}#x`)).toBe(
      "https://example.com/a?page=2&token=[redacted]&sig=[redacted]#x",
    );
    expect(redactUrl("https://example.com/a?q=a%20b")).toBe("https://example.com/a?q=a%20b");
    expect(redactUrl(`no url, password=${SECRET}`)).toBe("no url, password=[redacted]");
  });
});
