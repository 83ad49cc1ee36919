import { randomUUID } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { checkedClient } from "../http/conformance.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";
import { eventually } from "../../support/scratch.ts";

const PATH = "/v2/erasures";
let mine: ApiTenant;
let theirs: ApiTenant;
beforeAll(async () => {
  [mine, theirs] = await Promise.all([openTenant(), openTenant()]);
});

it.each([
  {},
  { user_id: "" },
  { user_id: "x".repeat(257) },
  { user_id: "a\u0000b" },
  { user_id: 1 },
  { user_id: "u", project_id: "none" },
  { user_id: "u", more: 1 },
])("rejects %j", async (body) => {
  expect((await mine.secret.post(PATH, body)).status).toBe(422);
});

it("allows erasures only to admins and unrestricted keys of the organisation", async () => {
  const body = { user_id: "nobody" };
  const { body: erasure } = await mine.secret.post(PATH, body);
  const one = `${PATH}/${erasure.erasure_id}`;
  expect((await checkedClient(mine.target).post(PATH, body)).status).toBe(401);
  const limited = async (limits: object) => {
    const key = await mine.secret.post("/v2/api-keys", { name: "limited", kind: "secret", ...limits });
    return checkedClient(mine.target, key.body.key);
  };
  const callers = [
    mine.public,
    await mine.user("member"),
    await mine.user("viewer"),
    await mine.user("editor"),
    await limited({ scopes: ["runs:*", "users:read", "documents:*", "evals:*", "audit:*"] }),
    await limited({ read_only: true }),
    await limited({ projects: [await mine.deploy(echo())] }),
  ];
  for (const caller of callers) expect((await caller.post(PATH, body)).status).toBe(403);
  for (const caller of callers.slice(0, 4)) {
    expect((await caller.get(PATH)).status).toBe(403);
    expect((await caller.get(one)).status).toBe(403);
  }
  const admin = await mine.user("admin");
  expect((await admin.post(PATH, body)).status).toBe(202);
  expect((await theirs.secret.get(one)).status).toBe(404);
  expect((await theirs.secret.get(PATH)).body.data).toEqual([]);
  const project_id = await theirs.deploy(echo());
  expect((await mine.secret.post(PATH, { ...body, project_id })).status).toBe(404);
  expect((await mine.secret.get(`${PATH}/${randomUUID()}`)).status).toBe(404);
});

it("completes an erasure for a user without data, lists it, and records it in the audit log without the user's ID", async () => {
  const user_id = `nobody-${randomUUID()}`;
  const { body: asked } = await mine.secret.post(PATH, { user_id });
  const done = await eventually("the end", async () => {
    const { body } = await mine.secret.get(`${PATH}/${asked.erasure_id}`);
    return body.state === "COMPLETED" ? body : undefined;
  });
  expect(done).toMatchObject({ removed: {}, problem: null, user_hash: asked.user_hash });
  expect(done.left.map(({ store }: { store: string }) => store)).toEqual(["audit_log", "backups"]);
  const { body: again } = await mine.secret.post(PATH, { user_id });
  expect([again.erasure_id === asked.erasure_id, again.user_hash]).toEqual([false, asked.user_hash]);
  const { body: page } = await mine.secret.get(PATH, { query: { page_size: 1 } });
  expect(page.data[0].erasure_id).toBe(again.erasure_id);
  const { body: next } = await mine.secret.get(PATH, { query: { page_size: 1, cursor: page.cursor } });
  expect(next.data[0].erasure_id).toBe(asked.erasure_id);
  const { body: log } = await mine.secret.get("/v2/audit-log", { query: { target: asked.erasure_id } });
  expect(log.data).toHaveLength(1);
  expect(log.data[0]).toMatchObject({ operation: "createErasure", target: { type: "erasure" } });
  expect(log.data[0].changes.user_hash.after).toBe(asked.user_hash);
  expect(JSON.stringify(log.data)).not.toContain(user_id);
});

it("keeps the user's data in other projects if the erasure is limited to one project", async () => {
  const [here, there] = [await mine.deploy(echo()), await mine.deploy(echo())];
  const user_id = `of-two-${randomUUID()}`;
  const runs = await Promise.all(
    [here, there].map(async (project_id) => {
      const body = { project_id, user_id, inputs: { "in-0": "x" }, mode: "sync" };
      return (await mine.secret.post("/v2/runs", body)).body.run_id as string;
    }),
  );
  const { body: asked } = await mine.secret.post(PATH, { user_id, project_id: here });
  expect(asked.project_id).toBe(here);
  const done = await eventually(
    "the end",
    async () => {
      const { body } = await mine.secret.get(`${PATH}/${asked.erasure_id}`);
      return body.state === "COMPLETED" ? body : undefined;
    },
    60_000,
  );
  expect(done.removed).toMatchObject({ runs: 1 });
  const [gone, kept] = await Promise.all(runs.map((id) => mine.secret.get(`/v2/runs/${id}`)));
  expect([gone?.status, kept?.status]).toEqual([404, 200]);
  expect(kept?.body.user_id).toBe(user_id);
}, 90_000);
