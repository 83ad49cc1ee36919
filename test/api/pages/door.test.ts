import { beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../../src/api/http/operation.ts";
import { client, type TestClient } from "../../support/client.ts";
import { expectDocumented, operations } from "../http/conformance.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { consulting, publish, type Published, type Visitor } from "./published.ts";

const ORIGIN = "https://shop.example";
const FOREIGN = "https://elsewhere.example";

/** Every operation that a visitor of a page can reach: a new one is tested without being named here. */
const doors = operations.filter(({ path }) => path.startsWith("/f/"));
const needsHandle = doors.filter(({ id }) => id !== "showPage" && id !== "enterPage");
const named = (all: readonly Operation[]) => all.map((operation) => [operation.id, operation] as const);

let tenant: ApiTenant;
let published: Published;
let other: Published;
let visitor: Visitor;
let ids: Readonly<Record<string, string>>;
beforeAll(async () => {
  tenant = await openTenant();
  const fields = {
    origins: [ORIGIN],
    visitor_pauses: ["approval-0"],
    rate_limits: { visitor: 1000, network: 1000, page: 1000 },
  };
  published = await publish(tenant, consulting(), fields);
  other = await publish(tenant, consulting());
  visitor = await published.enter();
  const { run_id, conversation_id } = await visitor.run({ "in-0": "mine" });
  ids = { run_id, conversation_id, node_id: "doc-0", filename: "a.txt" };
});

/** A valid call of a page's operation, as another caller or on another page. */
async function call(
  operation: Operation,
  { door = published.door, handle, origin }: { door?: string; handle?: string | undefined; origin?: string },
) {
  const api: TestClient = client(tenant.target, handle);
  const path = operation.path
    .replace("/f/{token}", door)
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "");
  const names = Object.keys(operation.query?.shape ?? {}).filter((name) => name in ids);
  const query = Object.fromEntries(names.map((name) => [name, ids[name]]));
  const form = new FormData();
  form.set("file", new Blob(["words"]), "a.txt");
  const example = Object.values(operation.examples ?? {})[0];
  const body = operation.multipart ? form : operation.body ? example : undefined;
  const headers = origin === undefined ? {} : { origin };
  const response = await api.raw(operation.method, path, body, { query, headers });
  const text = await response.text();
  const isJson = /[/+]json\b/.test(response.headers.get("content-type") ?? "");
  const answer = { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  expectDocumented(operation.method, path, answer);
  return answer;
}

describe("public-page: every operation of a page", () => {
  it("covers all of them", () => expect(doors.length).toBeGreaterThanOrEqual(15));

  it.each(named(needsHandle))("%s needs a handle of this page", async (_, operation) => {
    const theirs = (await other.enter()).handle;
    const callers = [undefined, theirs, `v_${"A".repeat(43)}`, "v_", tenant.secretKey, tenant.publicKey];
    for (const handle of callers)
      expect((await call(operation, { handle })).body, handle).toMatchObject({ status: 401, code: "unauthorized" });
  });

  it.each(
    named(
      needsHandle.filter(
        ({ path, query }) => /\{(run|conversation)_id\}/.test(path) || query?.shape["conversation_id"],
      ),
    ),
  )("%s is 404 for what another visitor wrote", async (_, operation) => {
    const { handle } = await published.enter();
    expect((await call(operation, { handle })).body).toMatchObject({ status: 404, code: "not_found" });
  });

  it.each(named(doors))("%s refuses other origins, an unknown page and a closed one", async (_, operation) => {
    const { handle } = visitor;
    for (const origin of [FOREIGN, "null", `${ORIGIN}.evil.example`, "http://shop.example"]) {
      const refused = await call(operation, { handle, origin });
      expect([refused.status, refused.headers.get("access-control-allow-origin")], origin).toEqual([403, null]);
    }
    const unknown = await call(operation, { handle, door: `/f/${"A".repeat(43)}` });
    expect(unknown.body.code).toBe("not_found");
    for (const closed of await closedPages())
      expect((await call(operation, { handle: closed.handle, door: closed.door })).body).toMatchObject({
        status: 410,
        code: "page_closed",
      });
  });

  it.each(named(doors))("%s reads no body and no size that it does not expect", async (_, operation) => {
    if (!operation.body) return;
    const path = operation.path
      .replace("/f/{token}", published.door)
      .replaceAll(/\{(\w+)\}/g, (__, name: string) => ids[name] ?? "");
    const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`;
    for (const body of [`{"inputs":${deep}}`, '{"__proto__":{}}', '{"draft":true}', '{"run_draft":true}', "[1]"]) {
      const headers = { "content-type": "application/json" };
      const { status } = await client(tenant.target, visitor.handle).raw(operation.method, path, body, { headers });
      expect([400, 413, 422], body.slice(0, 40)).toContain(status);
    }
  });

  let closed: Promise<Array<{ door: string; handle: string }>> | undefined;
  /** A revoked page, one past its end, and one whose project was deleted. */
  function closedPages() {
    return (closed ??= Promise.all(
      ["revoked", "expired"].map(async (how) => {
        const page = await publish(tenant, consulting());
        const { handle } = await page.enter();
        if (how === "revoked") expect((await tenant.secret.delete(page.path)).status).toBe(204);
        else {
          const soon = new Date(Date.now() + 300).toISOString();
          expect((await tenant.secret.patch(page.path, { expires_at: soon })).status).toBe(200);
          await expect
            .poll(async () => (await page.nobody.get(`${page.door}/page`)).status, { timeout: 5000 })
            .toBe(410);
        }
        return { door: page.door, handle };
      }),
    ));
  }
});

describe("an allowed origin", () => {
  it("reads responses and preflights, and no other does", async () => {
    const api = client(tenant.target);
    const ask = (method: string, origin: string) =>
      api.raw(method, `${published.door}/page`, undefined, { headers: { origin } });
    for (const method of ["GET", "OPTIONS"]) {
      const allowed = await ask(method, ORIGIN);
      expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([
        method === "GET" ? 200 : 204,
        ORIGIN,
      ]);
      expect(allowed.headers.get("vary")).toContain("Origin");
      expect(allowed.headers.get("access-control-allow-credentials")).toBeNull();
      expect((await ask(method, FOREIGN)).headers.get("access-control-allow-origin")).toBeNull();
    }
    const own = await ask("GET", new URL(tenant.target.url).origin);
    expect(own.status).toBe(200);
    expect(own.headers.get("set-cookie")).toBeNull();
  });
});

describe("the page itself", () => {
  it("is a document that only its origins may frame, with nothing inline and no cookie", async () => {
    const api = client(tenant.target);
    const page = await api.raw("GET", published.door, undefined, { headers: { cookie: "millrace_session=x" } });
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy.split("; ")).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "img-src 'self' data: blob:",
        `frame-ancestors 'self' ${ORIGIN}`,
        "require-trusted-types-for 'script'",
      ]),
    );
    expect(policy).not.toContain("unsafe");
    expect([page.headers.get("set-cookie"), page.headers.get("referrer-policy")]).toEqual([null, "no-referrer"]);
    const html = await page.text();
    const asset = /(?:src|href)="(\/f\/assets\/[^"]+)"/.exec(html)?.[1] ?? "";
    const script = await api.raw("GET", asset);
    expect([script.status, script.headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
    const embed = await api.raw("GET", "/embed.js");
    expect([embed.status, embed.headers.get("cross-origin-resource-policy")]).toEqual([200, "cross-origin"]);
    expect((await embed.arrayBuffer()).byteLength).toBeLessThan(20_000);
    for (const missing of ["/f/assets/../../package.json", "/f/assets/%2e%2e/web/index.html", "/f/assets/none.js"])
      expect((await api.raw("GET", missing)).status).toBe(404);
    expect((await api.raw("POST", published.door)).status).toBe(405);
  });

  it("is a plain text where there is none, or none any more", async () => {
    const api = client(tenant.target);
    const unknown = await api.raw("GET", `/f/${"A".repeat(43)}`);
    expect([unknown.status, unknown.headers.get("content-type"), await unknown.text()]).toEqual([
      404,
      "text/plain; charset=utf-8",
      "There is no page at this address.\n",
    ]);
    const page = await publish(tenant, consulting());
    await tenant.secret.delete(page.path);
    const gone = await api.raw("GET", page.door);
    expect([gone.status, await gone.text()]).toEqual([410, "This page is no longer available.\n"]);
  });
});
