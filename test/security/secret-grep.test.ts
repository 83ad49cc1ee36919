import { inject, afterAll, beforeAll, expect, it } from "vitest";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { subscribe } from "../api/webhooks/webhooks.ts";
import { edges, flow, node } from "../support/flows.ts";
import { decoded, textOf, withTemporal, type WorkflowHistory } from "../support/histories.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { startService, type OwnService } from "../support/service.ts";

/** Planted as credentials. They may be in encrypted connections only, in no form anywhere else. */
const TOKEN = "planted/secret+7b1d09f4e2";
const CLIENT_SECRET = "planted client secret 93c5aa";
const ACCESS_TOKEN = "planted-access-token-55e0";
const FORMS = [TOKEN, CLIENT_SECRET, ACCESS_TOKEN].flatMap((secret) => [
  secret,
  encodeURIComponent(secret),
  ...[0, 1, 2].map((shift) =>
    Buffer.from(" ".repeat(shift) + secret)
      .toString("base64")
      .slice(4, -4),
  ),
]);

let own: OwnService;
let tenant: ApiTenant;
let upstream: HttpTarget;
beforeAll(async () => {
  upstream = await startHttpTarget();
  own = await startService({ env: { LOG_LEVEL: "debug" } });
  tenant = await openTenant(own);
});
afterAll(async () => {
  await own?.close();
  await upstream?.close();
});

it("a credential is in no table, log, workflow history or webhook (secret-in-error, secret-by-dry-run)", async () => {
  const api = tenant.secret;
  await subscribe(api, { url: `${upstream.url}/hook`, events: ["*"] });
  upstream.on("/hook", (_, response) => void response.writeHead(200).end());
  // Returns the credential that it received, in several forms.
  upstream.on("/leak", (request, response) => {
    const sent = request.headers["authorization"] ?? "";
    const status = request.method === "GET" ? 401 : 500;
    response.writeHead(status, { "content-type": "text/plain", "x-echo": encodeURIComponent(sent) });
    response.end(`no: ${sent} ${btoa(`${sent}`)} ${request.body}`);
  });
  upstream.on("/token", (request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ access_token: ACCESS_TOKEN, expires_in: 60, echo: request.body }));
  });
  const create = async (scheme: string, credential: Record<string, string>): Promise<string> => {
    const whole = { base_url: upstream.url, ...credential };
    const { body } = await api.post("/v2/connections", {
      name: scheme,
      provider_id: "http",
      scheme,
      credential: whole,
    });
    return body.connection_id;
  };
  const connections = [
    await create("bearer", { token: TOKEN }),
    await create("basic", { username: "ada", password: TOKEN }),
    await create("oauth2_client_credentials", {
      token_url: `${upstream.url}/token`,
      client_id: "c",
      client_secret: CLIENT_SECRET,
    }),
  ];
  const answers: unknown[] = [];
  const workflows: string[] = [];
  for (const connection_id of connections) {
    for (const [url, dry_run] of [
      ["/echo", false],
      ["/leak", false],
      ["/echo", true],
    ] as const) {
      const inputs = { method: "POST", url, headers: { "x-copy": "c" } };
      const { body } = await api.post("/v2/providers/http/actions/request/run", { inputs, connection_id, dry_run });
      answers.push(body);
      workflows.push(`action-${body.action_run_id}`);
    }
    const graph = (url: string) =>
      flow({
        nodes: [
          node("in-0", "input", { required: false, default: "x" }),
          node("act-0", "action", { provider_id: "http", action_id: "get", connection_id, inputs: { url } }),
          node("out-0", "output", { value: "{{ act-0 | json }}" }),
        ],
        edges: edges("in-0 > act-0", "act-0 > out-0"),
      });
    for (const url of ["/echo", "/leak"]) {
      const project_id = await tenant.deploy(graph(url));
      const { body } = await api.post("/v2/runs", { project_id, inputs: {}, mode: "sync" });
      answers.push(body, (await api.get(`/v2/runs/${body.run_id}`, { query: { expand: "nodes" } })).body);
      workflows.push(`run-${body.run_id}`);
    }
    answers.push((await api.post(`/v2/connections/${connection_id}/check`)).body);
    workflows.push(`check-${connection_id}-1`);
  }
  // The secrets did reach the target.
  const sent = upstream.requests.map(({ headers }) => headers["authorization"]);
  expect(sent).toContain(`Bearer ${TOKEN}`);
  expect(sent).toContain(`Bearer ${ACCESS_TOKEN}`);
  await expect.poll(() => upstream.hits("/hook"), { timeout: 20_000 }).toBeGreaterThan(3);

  const found: string[] = [];
  const grep = (place: string, text: string): void => {
    for (const form of FORMS) if (text.includes(form)) found.push(`${place}: ${form}`);
  };
  grep("answers", JSON.stringify(answers));
  grep(
    "webhooks",
    upstream.requests
      .filter(({ path }) => path === "/hook")
      .map(({ body }) => body)
      .join(),
  );
  grep("logs", own.logs());
  grep("tables", await tables());
  const kept = await histories(workflows);
  grep("histories", kept.map(textOf).join());
  // Encrypted payloads could hide a secret, so they are decrypted and searched, too.
  grep("decrypted histories", (await Promise.all(kept.map(decoded))).map(textOf).join());
  expect(found).toEqual([]);
});

/** Every row of every table, as text. */
function tables(): Promise<string> {
  return tenant.withDatabase((database) =>
    database.system(async (db) => {
      const names = await db.query<{ table_name: string }>(
        "select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
      );
      const all: string[] = [];
      for (const { table_name } of names) {
        const rows = await db.query<{ row: string }>(`select t::text as row from ${table_name} t`);
        all.push(...rows.map(({ row }) => row));
      }
      return all.join("\n");
    }),
  );
}

function histories(workflowIds: readonly string[]): Promise<WorkflowHistory[]> {
  return withTemporal(inject("millrace").temporalAddress, (client) =>
    Promise.all(
      workflowIds.map(async (workflowId) => ({
        workflowId,
        history: await client.workflow.getHandle(workflowId).fetchHistory(),
      })),
    ),
  );
}
