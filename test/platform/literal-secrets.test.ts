import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/domain/json.ts";
import { literalHeaders, maskAddress, maskLiterals } from "../../src/platform/logging/literal-secrets.ts";

const withHeaders = (headers: Record<string, string>): JsonObject => ({
  nodes: [{ id: "http-0", type: "http", config: { url: "https://api.example", headers } }],
});

describe("credentials written into a flow", () => {
  it.each([
    ["Authorization", "Bearer s3cret"],
    ["authorization", "s3cret"],
    ["Proxy-Authorization", "Basic dTpw"],
    ["X-API-Key", "dGVzdGE="],
    ["x-auth-token", "abc"],
    ["Cookie", "session=abc; path=/"],
    ["Authorization", "Bearer s3cret-{{ in-0 }}"],
    ["Authorization", "Bearer {{ 's3cret' }}"],
    ["Authorization", 'Bearer {{ in-0 | default: "s3cret" }}'],
  ])("are masked in the header %s: %s", (name, value) => {
    const written = withHeaders({ [name]: value, Accept: "application/json" });
    expect(maskLiterals(written)).toEqual(withHeaders({ [name]: "[redacted]", Accept: "application/json" }));
    expect(literalHeaders(written)).toEqual([["nodes", 0, "config", "headers", name]]);
  });

  it.each([
    ["Authorization", "Bearer {{ in-0 }}"],
    ["Authorization", "{{ http-0.body.token }}"],
    ["Authorization", ""],
    ["Cookie", "session={{ in-0 }}; lang={{ in-1 }}"],
    ["Idempotency-Key", "order-17"],
    ["Content-Type", "application/json"],
    ["X-Request-Author", "ada"],
  ])("are not found in the header %s with %j", (name, value) => {
    const written = withHeaders({ [name]: value });
    expect(maskLiterals(written)).toEqual(written);
    expect(literalHeaders(written)).toEqual([]);
  });

  it("are masked in queries, bodies, inputs and URLs, at any depth", () => {
    const address = "https://ada:s3cret@api.example/v1?api_key=s3cret&page=2";
    const sent = { query: { key: "s3cret", page: "2" }, body: { user: { password: "s3cret", name: "Ada" } } };
    const inputs = { headers: { authorization: "s3cret" }, url: "https://x.example?token=s3cret" };
    const inner = { nodes: [{ config: { url: address, ...sent } }, { config: { inputs } }] };
    const tools = [{ fixed_inputs: { access_token: "s3cret" } }];
    const written = { nodes: [{ id: "map-0", config: { flow: inner } }, { config: { tools } }] };
    const shown = JSON.stringify(maskLiterals(written));
    expect(shown).not.toContain("s3cret");
    for (const left of ["page=2", '"page":"2"', "Ada", "map-0", "api.example/v1"]) expect(shown).toContain(left);
    expect(JSON.stringify(written)).toContain("s3cret");
  });

  it("are not looked for in fields that are never sent", () => {
    const form = { properties: { password: { type: "string" }, auth: { type: "object" } } };
    const written = {
      nodes: [
        { id: "token", config: { template: "The token: {{in-0}}", max_tokens: 5 } },
        { config: { form } },
        { config: { code: "const token = input.token" } },
      ],
      settings: { redact: ["$..password"] },
    };
    expect(maskLiterals(written)).toEqual(written);
  });

  it("are masked without losing fields such as __proto__", () => {
    const value = JSON.parse('{"headers":{"__proto__":"x","cookie":"y"}}') as JsonObject;
    expect(JSON.stringify(maskLiterals(value))).toBe('{"headers":{"__proto__":"x","cookie":"[redacted]"}}');
  });
});

describe("a URL for readers who cannot change it", () => {
  it.each([
    ["https://example.com/hooks", "https://example.com/hooks"],
    ["https://example.com/hooks?code=abc&x=1", "https://example.com/hooks?code=[redacted]&x=[redacted]"],
    ["https://example.com/hooks?x=1&x=2", "https://example.com/hooks?x=[redacted]"],
    ["https://ada:pw@example.com/", "https://example.com/"],
    ["no address", "[redacted]"],
    [
      "https://hooks.slack.com/services/T0/B0/XXXX",
      "https://hooks.slack.com/services/[redacted]/[redacted]/[redacted]",
    ],
    ["https://discord.com/api/webhooks/123/abc", "https://discord.com/api/webhooks/[redacted]/[redacted]"],
    ["https://example.org/in/a1b2c3d4e5f6a7b8c9/new", "https://example.org/in/[redacted]/new"],
    ["https://example.org/orders-and-invoices/2024/v2", "https://example.org/orders-and-invoices/2024/v2"],
  ])("%s is %s", (address, shown) => {
    expect(maskAddress(address)).toBe(shown);
  });
});
