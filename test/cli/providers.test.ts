import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openTenant } from "../api/tenant.ts";
import { startMcpServer } from "../support/mcp-server.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { scratchDirectory } from "../support/scratch.ts";
import { millrace } from "./millrace.ts";

const TOKEN = "planted-token-31ab90";
let environment: Record<string, string>;
let upstream: HttpTarget;
beforeAll(async () => {
  const tenant = await openTenant();
  upstream = await startHttpTarget();
  environment = { MILLRACE_URL: tenant.target.url, MILLRACE_API_KEY: tenant.secretKey };
});
afterAll(() => upstream?.close());

it("imports a document, stores a credential, and runs an action with it", async () => {
  const directory = scratchDirectory();
  const write = (name: string, value: unknown): string => {
    writeFileSync(join(directory, name), JSON.stringify(value));
    return join(directory, name);
  };
  const document = write("openapi.json", {
    openapi: "3.1.0",
    info: { title: "Command Shop", version: "1" },
    servers: [{ url: upstream.url }],
    security: [{ token: [] }],
    paths: { "/orders": { get: { operationId: "listOrders", responses: {} } } },
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
  });
  const imported = await millrace(["providers", "import", document], environment);
  expect([imported.code, imported.stdout], imported.stderr).toEqual([
    0,
    "command-shop  Command Shop: 1 actions\nadded: listOrders\n",
  ]);
  const credential = ["--credential", write("credential.json", { token: TOKEN })];
  const made = await millrace(
    ["connections", "create", "Shop", "--provider", "command-shop", ...credential],
    environment,
  );
  expect(made.stdout, made.stderr).toMatch(/^[0-9a-f-]{36} {2}Shop: unverified/);
  const [id = ""] = made.stdout.split(" ");
  const run = ["actions", "run", "command-shop/listOrders", "--connection", id];
  const ran = await millrace(run, environment);
  expect([ran.code, JSON.parse(ran.stdout).url], ran.stderr).toEqual([0, "/orders"]);
  expect(upstream.requests[0]?.headers["authorization"]).toBe(`Bearer ${TOKEN}`);
  const dry = await millrace([...run, "--dry-run"], environment);
  expect(JSON.parse(dry.stdout).url).toBe(`${upstream.url}/orders`);
  const listed = await millrace(["connections", "list"], environment);
  expect(listed.stdout).toMatch(new RegExp(`${id} +Shop +command-shop +bearer +active`));
  const providers = await millrace(["providers", "list"], environment);
  expect(providers.stdout).toMatch(/^command-shop +Command Shop +openapi /m);
  expect((await millrace(["providers", "delete", "command-shop"], environment)).stderr).toContain("409");
  expect((await millrace(["connections", "delete", id], environment)).stdout).toBe(`deleted ${id}\n`);
  expect((await millrace(["providers", "delete", "command-shop"], environment)).stdout).toBe("deleted command-shop\n");
  expect((await millrace(["providers", "list"], environment)).stdout).not.toContain("command-shop");
  for (const { stdout, stderr } of [made, ran, dry, listed]) expect(stdout + stderr).not.toContain(TOKEN);
  const failed = await millrace(["actions", "run", "http/get", "--inputs", '{"url":"http://10.0.0.1/"}'], environment);
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining("http_refused")]);
});

it("imports the tools of an MCP server, and runs one", async () => {
  const server = await startMcpServer({ allow: ({ headers }) => headers.authorization === `Bearer ${TOKEN}` });
  try {
    const file = join(scratchDirectory(), "credential.json");
    writeFileSync(file, JSON.stringify({ token: TOKEN }));
    const place = ["providers", "import", "--mcp", server.url, "--id", "command-tools"];
    const refused = await millrace(place, environment);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("credential")]);
    const imported = await millrace([...place, "--credential", file], environment);
    const [, id = ""] = /connection: ([0-9a-f-]{36})/.exec(imported.stdout) ?? [];
    expect(imported.stdout, imported.stderr).toMatch(
      /^command-tools {2}Test Tools: 7 actions\n[^]*\nadded: add, break/,
    );
    const again = await millrace([...place, "--connection", id], environment);
    expect([again.code, again.stdout]).toEqual([0, "command-tools  Test Tools: 7 actions\n"]);
    const run = ["actions", "run", "command-tools/add", "--connection", id, "--inputs", '{"a":1,"b":2}'];
    const ran = await millrace(run, environment);
    expect(JSON.parse(ran.stdout), ran.stderr).toMatchObject({ text: "It is 3", structured_content: { sum: 3 } });
    const neither = await millrace(["providers", "import"], environment);
    expect([neither.code, neither.stderr]).toEqual([2, expect.stringContaining("--mcp")]);
  } finally {
    await server.close();
  }
});

it("shows what an import would change, and needs --force to delete actions that flows use", async () => {
  const directory = scratchDirectory();
  const documentOf = (path: string, operationId: string): string => {
    const file = join(directory, `${operationId}.json`);
    const paths = { [path]: { get: { operationId, responses: { 200: { description: "ok" } } } } };
    const info = { title: "Changing Shop", version: "1" };
    writeFileSync(file, JSON.stringify({ openapi: "3.1.0", info, servers: [{ url: upstream.url }], paths }));
    return file;
  };
  const [before, after] = [documentOf("/orders", "listOrders"), documentOf("/carts", "listCarts")];
  const place = (file: string, ...more: string[]) =>
    millrace(["providers", "import", file, "--id", "changing-shop", ...more], environment);
  expect((await place(before)).code).toBe(0);
  const flowFile = join(directory, "flow.json");
  const nodes = [
    { id: "in-0", type: "input" },
    { id: "action-0", type: "action", config: { provider_id: "changing-shop", action_id: "listOrders" } },
    { id: "out-0", type: "output" },
  ];
  const edges = [
    { source: "in-0", target: "action-0" },
    { source: "action-0", target: "out-0" },
  ];
  writeFileSync(flowFile, JSON.stringify({ schema_version: 1, name: "Orders", nodes, edges }));
  expect((await millrace(["deploy", flowFile], environment)).stderr).toBe("");

  const dry = await place(after, "--dry-run");
  expect([dry.code, dry.stdout], dry.stderr).toEqual([
    0,
    "added: listCarts\nremoved: listOrders\nused by Orders: listOrders\n",
  ]);
  const refused = await place(after);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("409")]);
  const forced = await place(after, "--force");
  expect([forced.code, forced.stdout], forced.stderr).toEqual([
    0,
    "changing-shop  Changing Shop: 1 actions\nadded: listCarts\nremoved: listOrders\n",
  ]);
});

it.each([
  [["--accept-changes", "--trust-annotations"], { accept_changes: true, trust_annotations: true }],
  [["--no-trust-annotations"], { trust_annotations: false }],
  [["--dry-run", "--force"], { dry_run: true, force: true }],
  [[], {}],
])("sends the flags for MCP servers as request fields: %j", async (flags, members) => {
  upstream.reset();
  const mcp = ["providers", "import", "--mcp", "https://mcp.example/mcp"];
  await millrace([...mcp, ...flags], { MILLRACE_URL: upstream.url, MILLRACE_API_KEY: "mr_sec_test" });
  const { mcp: _mcp, ...sent } = JSON.parse(upstream.requests[0]?.body ?? "{}") as Record<string, unknown>;
  expect(sent).toEqual(members);
});
