import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import { checkedClient } from "../api/http/conformance.ts";
import { echo, openTenant, type ApiTenant } from "../api/tenant.ts";
import type { Answer, TestClient } from "../support/client.ts";
import { edges, flow, node } from "../support/flows.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { makeEverything, type Ids } from "./foreign-ids.ts";

/** A user who may deploy in one project, and the client that runs its flows. */
interface Deployer {
  readonly as: TestClient;
  readonly owner: TestClient;
  readonly project: string;
}
const DEPLOYERS = [
  "another organisation",
  "a member of another project",
  "a key for another project",
  "a viewer there",
] as const;

let receiver: HttpTarget;
let tenant: ApiTenant;
let theirs: Ids;
/** A project that the deployers have no role in, and a run of it. */
let other: string;
let run: string;
let email: string;
const deployers = new Map<string, Deployer>();

beforeAll(async () => {
  receiver = await startHttpTarget();
  const [mine, stranger] = await Promise.all([openTenant(), openTenant()]);
  tenant = mine;
  theirs = await makeEverything(tenant, receiver.url);
  email = `theirs-${tenant.org_id}@example.test`;
  other = await tenant.deploy(echo());
  const started = await tenant.secret.post("/v2/runs", { project_id: other, inputs: { "in-0": "a b" }, mode: "sync" });
  run = started.body.run_id;
  const project = await tenant.deploy(echo());
  const owner = tenant.secret;
  const limited = await owner.post("/v2/api-keys", { name: "limited", kind: "secret", projects: [project] });
  const everybody: Deployer[] = [
    { as: stranger.secret, owner: stranger.secret, project: await stranger.deploy(echo()) },
    { as: await member({ [project]: "editor" }), owner, project },
    { as: client(limited.body.key), owner, project },
    { as: await member({ [project]: "editor", [other]: "viewer" }), owner, project },
  ];
  DEPLOYERS.forEach((name, at) => deployers.set(name, everybody[at] as Deployer));
});
afterAll(() => receiver?.close());

function client(key: string): TestClient {
  return checkedClient(tenant.target, key);
}

async function member(grants: Record<string, string>): Promise<TestClient> {
  const made = await tenant.user("member");
  const { body: me } = await made.get("/v2/me");
  for (const [id, role] of Object.entries(grants))
    expect((await tenant.secret.put(`/v2/projects/${id}/members/${me.id}`, { role })).status).toBe(200);
  return made;
}

/** A flow with one node of this type. */
function doing(type: string, config: Record<string, unknown>): FlowDefinition {
  const leaves = type === "approval" ? "do-0:approve > out-0" : "do-0 > out-0";
  const nodes = [node("in-0", "input"), node("do-0", type, config), node("out-0", "output")];
  return flow({ nodes, edges: edges("in-0 > do-0", leaves) });
}
const action = (action_id: string, inputs: object): FlowDefinition =>
  doing("action", { provider_id: "millrace", action_id, inputs });
const asking = (more: object): FlowDefinition => doing("llm", { prompt: "{{in-0}}", model: "m", ...more });

type Named = readonly [name: string, code: string, flow: () => FlowDefinition];
const OF_PROJECTS: readonly Named[] = [
  ["a sub-flow", "unknown_project", () => doing("subflow", { project_id: other.toUpperCase() })],
  ["a sub-flow as a tool", "unknown_project", () => asking({ tools: [{ type: "subflow", project_id: other }] })],
  ["an action that starts it", "unknown_project", () => action("start_run", { project_id: other.toUpperCase() })],
  [
    "a tool that starts it",
    "unknown_project",
    () =>
      asking({
        tools: [
          { type: "action", provider_id: "millrace", action_id: "start_run", fixed_inputs: { project_id: other } },
        ],
      }),
  ],
  [
    "a node within a map",
    "unknown_project",
    () =>
      doing("map", {
        items: "[1]",
        flow: {
          nodes: [
            node("start-0", "action", {
              provider_id: "millrace",
              action_id: "start_run",
              inputs: { project_id: other },
            }),
            node("out-0", "output"),
          ],
          edges: edges("start-0 > out-0"),
        },
      }),
  ],
];
const OF_ORGANISATION: readonly Named[] = [
  [
    "a knowledge base",
    "unknown_knowledge_base",
    () => doing("knowledge", { knowledge_base_id: theirs["knowledge_base_id"], query: "x" }),
  ],
  [
    "a knowledge base as a tool",
    "unknown_knowledge_base",
    () => asking({ tools: [{ type: "knowledge", knowledge_base_id: theirs["knowledge_base_id"] }] }),
  ],
  [
    "a knowledge base of an action",
    "unknown_knowledge_base",
    () => action("query_knowledge_base", { knowledge_base_id: theirs["knowledge_base_id"], query: "x" }),
  ],
  ["a skill", "unknown_skill", () => asking({ skills: [theirs["skill_id"]] })],
  [
    "a connection",
    "unknown_connection",
    () =>
      doing("action", {
        provider_id: "http",
        action_id: "get",
        connection_id: theirs["connection_id"],
        inputs: { url: "http://a.test" },
      }),
  ],
  ["a provider", "unknown_provider", () => asking({ tools: [{ type: "mcp", provider_id: "theirs" }] })],
  ["a user", "unknown_user", () => doing("approval", { message: "?", assignees: { users: [email] } })],
];

describe.each(DEPLOYERS)("project-escape: resources that a flow names, deployed by %s", (name) => {
  const deploy = async (definition: FlowDefinition): Promise<Answer> => {
    const { as, project } = deployers.get(name) as Deployer;
    return as.post(`/v2/projects/${project}/versions`, { flow: definition, publish: false });
  };
  const codes = ({ body }: Answer): string[] =>
    (body.problems ?? [])
      .filter((each: { severity: string }) => each.severity === "error")
      .map((each: { code: string }) => each.code);

  it.each(OF_PROJECTS)("%s of another project is rejected", async (_name, code, named) => {
    const answer = await deploy(named());
    expect([answer.status, codes(answer)]).toEqual([422, [code]]);
  });

  it.each(OF_ORGANISATION)("%s can be used only in its own organisation", async (_name, code, named) => {
    const answer = await deploy(named());
    if (name === "another organisation")
      expect([answer.status, codes(answer)]).toEqual([422, expect.arrayContaining([code])]);
    else expect(answer).toMatchObject({ status: expect.toBeOneOf([200, 201]) });
  });

  it("an ID that is computed in the run is checked against the same rights", async () => {
    const { owner, project } = deployers.get(name) as Deployer;
    /** The result of a run: error code and message, or nothing. */
    const outcome = async (definition: FlowDefinition, id: string): Promise<unknown> => {
      const { body: version } = await deploy(definition);
      const asked = { project_id: project, version: version.version, inputs: { "in-0": id }, mode: "sync" };
      const { body } = await owner.post("/v2/runs", asked);
      return body.error ? [body.error.code, body.error.message.replaceAll(id, "ID")] : body.state;
    };
    const id = "{{in-0}}";
    const start = action("start_run", { project_id: id, inputs: { "in-0": "x" } });
    const read = action("get_run", { run_id: id });
    const query = action("query_knowledge_base", { knowledge_base_id: id, query: "x" });
    const nothing = randomUUID();
    const refused = ["not_found_or_not_allowed", expect.any(String)];
    expect(await outcome(start, nothing)).toEqual(refused);
    expect(await outcome(start, other)).toEqual(await outcome(start, nothing));
    expect(await outcome(read, nothing)).toEqual(refused);
    expect(await outcome(read, run)).toEqual(name === "a viewer there" ? "COMPLETED" : await outcome(read, nothing));
    const missing = await outcome(query, nothing);
    expect(missing).toEqual(["knowledge_base_not_found", expect.any(String)]);
    expect(await outcome(query, theirs["knowledge_base_id"] ?? "")).toEqual(
      name === "another organisation" ? missing : "COMPLETED",
    );
    expect(await outcome(start, project)).toBe("COMPLETED");
  });
});

it("project-escape: a version loses the project in which a member's role is revoked", async () => {
  const project = await tenant.deploy(echo());
  const deployer = await member({ [project]: "editor", [other]: "editor" });
  const { body: me } = await deployer.get("/v2/me");
  const calling = doing("subflow", { project_id: other, inputs: { "in-0": "'x'" } });
  const { body: made } = await deployer.post(`/v2/projects/${project}/versions`, { flow: calling });
  const outcome = async (): Promise<unknown> => {
    const asked = { project_id: project, version: made.version, inputs: { "in-0": "x" }, mode: "sync" };
    const { body: ended } = await tenant.secret.post("/v2/runs", asked);
    return ended.error?.code ?? ended.state;
  };
  expect(await outcome()).toBe("COMPLETED");
  expect((await tenant.secret.delete(`/v2/projects/${other}/members/${me.id}`)).status).toBe(204);
  expect(await outcome()).toBe("subflow_not_found");
});

it("project-escape: a version and a trigger lose the rights that their user loses, until a user with the rights deploys again", async () => {
  const editor = await tenant.user("editor");
  const { body: me } = await editor.get("/v2/me");
  const project = await tenant.deploy(echo());
  const definitions = [
    doing("subflow", { project_id: other, inputs: { "in-0": "'x'" } }),
    action("start_run", { project_id: other, inputs: { "in-0": "x" } }),
    action("get_run", { run_id: run }),
  ];
  const path = `/v2/projects/${project}/versions`;
  const follows = (as: TestClient): Promise<Answer> =>
    as.post("/v2/triggers", {
      project_id: project,
      provider_id: "millrace",
      trigger_id: "run_event",
      config: { project_id: other },
      inputs: { "in-0": "'x'" },
    });
  const deployed: Answer[] = [];
  for (const each of definitions) deployed.push(await editor.post(path, { flow: each, publish: false }));
  const outcomes = async (): Promise<unknown[]> => {
    const found: unknown[] = [];
    for (const { body } of deployed) {
      const asked = { project_id: project, version: body.version, inputs: { "in-0": "x" }, mode: "sync" };
      const { body: ended } = await tenant.secret.post("/v2/runs", asked);
      found.push(ended.error?.code ?? ended.state);
    }
    return found;
  };
  const all = ["COMPLETED", "COMPLETED", "COMPLETED"];
  expect(await outcomes()).toEqual(all);
  const trigger = await follows(editor);
  const stays = await follows(tenant.secret);
  expect((await tenant.secret.put(`/v2/projects/${project}/members/${me.id}`, { role: "editor" })).status).toBe(200);
  expect((await tenant.secret.patch(`/v2/users/${me.id}`, { role: "member" })).status).toBe(200);

  await tenant.secret.post("/v2/runs", { project_id: other, inputs: { "in-0": "seen" }, mode: "sync" });
  const firings = async ({ body }: Answer): Promise<unknown[]> =>
    (await tenant.secret.get(`/v2/triggers/${body.id}/firings`)).body.data;
  await vi.waitFor(async () => expect(await firings(stays)).toHaveLength(1), 30_000);
  expect(await firings(trigger)).toEqual([]);

  const refused = ["subflow_not_found", "not_found_or_not_allowed", "not_found_or_not_allowed"];
  expect(await outcomes()).toEqual(refused);
  // Disabling a user does not restore any rights.
  expect((await tenant.secret.patch(`/v2/users/${me.id}`, { disabled: true })).status).toBe(200);
  expect(await outcomes()).toEqual(refused);
  for (const each of definitions) {
    const again = await tenant.secret.post(path, { flow: each, publish: false });
    expect([again.status, deployed.some(({ body }) => body.version === again.body.version)]).toEqual([200, true]);
  }
  expect(await outcomes()).toEqual(all);
});
