import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { insertDraftStep, purgeDraftSteps } from "../../../src/stores/projects/drafts.ts";
import { lockProject } from "../../../src/stores/projects/projects.ts";
import type { TestClient } from "../../support/client.ts";
import { eventually } from "../../support/scratch.ts";
import { checkedClient } from "../http/conformance.ts";
import { echoFlow } from "../echo-flow.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
let stranger: ApiTenant;
let editor: TestClient;
let viewer: TestClient;
beforeAll(async () => {
  [tenant, stranger] = await Promise.all([openTenant(), openTenant()]);
  [editor, viewer] = await Promise.all([tenant.user("editor"), tenant.user("viewer")]);
});

/** Creates a project; returns the path of its draft. */
async function newProject(flow?: unknown): Promise<string> {
  const { body } = await tenant.secret.post("/v2/projects", { name: "Shop", ...(flow !== undefined && { flow }) });
  return `/v2/projects/${body.project_id}/draft`;
}

const versionsOf = (draft: string): string => draft.replace(/draft$/, "versions");

const since = (tag: string | null): { headers: Record<string, string> } => ({ headers: { "if-match": tag ?? "" } });

describe("a draft", () => {
  it("is saved as sent, and can be read back", async () => {
    const path = await newProject();
    expect((await editor.get(path)).body).toMatchObject({ status: 404, detail: "Draft not found." });
    const flow = { ...echoFlow(), ui: { positions: { "in-0": [1, 2] } } };
    const saved = await editor.put(path, { flow });
    expect(saved).toMatchObject({ status: 201, body: { revision: 1, valid: true, problems: [] } });
    expect(saved.body.changed_by_name).toMatch(/^editor-/);
    const read = await editor.get(path);
    expect([read.status, read.headers.get("etag")]).toEqual([200, saved.headers.get("etag")]);
    expect(read.body).toEqual({ ...saved.body, flow });
    const same = await tenant.secret.put(path, { flow });
    expect(same).toMatchObject({ status: 200, body: { revision: 1 } });
    const other = await tenant.secret.put(path, { flow: echoFlow("new") });
    expect(other).toMatchObject({ status: 200, body: { revision: 2, changed_by_type: "org_api_key" } });
  });

  it("may be invalid, and reports why; beyond the size limits it is rejected", async () => {
    const path = await newProject();
    const flow = { nodes: [{ id: "in-0", type: "teleport" }], drawn: { half: true } };
    const { status, body } = await editor.put(path, { flow });
    expect([status, body.valid]).toEqual([201, false]);
    expect(body.problems).toEqual(
      expect.arrayContaining([expect.objectContaining({ code: "unknown_kind", path: ["nodes", 0, "type"] })]),
    );
    expect((await editor.get(path)).body).toMatchObject({ flow, valid: false, problems: body.problems });

    const nodes = Array.from({ length: 1001 }, (_, at) => ({ id: `in-${at}`, type: "input" }));
    const large = await editor.put(path, { flow: { ...echoFlow(), nodes } });
    expect(large).toMatchObject({ status: 422, body: { problems: [{ code: "too_many_nodes" }] } });
    expect((await editor.get(path)).body.revision).toBe(1);
    for (const wrong of [{}, { flow: [] }, { flow: echoFlow(), notes: "x" }])
      expect((await editor.put(path, wrong)).status).toBe(422);
  });

  it("is not overwritten after another person's change: the 412 shows who, when and both flows", async () => {
    const path = await newProject();
    const { headers } = await editor.put(path, { flow: echoFlow("base") });
    const first = headers.get("etag");
    const theirs = await tenant.secret.put(path, { flow: echoFlow("theirs") }, since(first));
    expect(theirs.status).toBe(200);
    const refused = await editor.put(path, { flow: echoFlow("mine") }, since(first));
    expect(refused).toMatchObject({
      status: 412,
      body: {
        code: "precondition_failed",
        change: { revision: 2, changed_by_type: "org_api_key", changed_at: theirs.body.changed_at, ended: false },
        draft: { revision: 2, flow: echoFlow("theirs") },
        base: { revision: 1, flow: echoFlow("base") },
      },
    });
    expect(refused.body.detail).toContain(theirs.body.changed_by_name);
    expect((await editor.get(path)).body.flow).toEqual(echoFlow("theirs"));
    const chosen = await editor.put(path, { flow: echoFlow("mine") }, since(refused.headers.get("etag")));
    expect(chosen).toMatchObject({ status: 200, body: { revision: 3 } });
    expect((await editor.delete(path, since(first))).status).toBe(412);
  });

  it("belongs to the first of two people who create it at the same time", async () => {
    const path = await newProject();
    const fresh = { headers: { "if-none-match": "*" } };
    const both = await Promise.all([1, 2].map((at) => editor.put(path, { flow: echoFlow(`${at}`) }, fresh)));
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 412]);
    const unless = async (tag: string) =>
      (await editor.put(path, { flow: echoFlow() }, { headers: { "if-none-match": tag } })).status;
    // Also with the marks of compressing proxies.
    for (const tag of ['W/"r1"', '"r1-gzip"', '"r1-br"', '"r1-zstd"']) expect(await unless(tag)).toBe(412);
    expect([await unless('"r2"'), await unless("0")]).toEqual([200, 200]);
  });

  it("is kept as a step when it is deleted, and its numbering continues", async () => {
    const path = await newProject();
    const { headers } = await editor.put(path, { flow: echoFlow("one") });
    expect((await editor.delete(path)).status).toBe(204);
    expect([(await editor.get(path)).status, (await editor.delete(path)).status]).toEqual([404, 404]);
    const late = await tenant.secret.put(path, { flow: echoFlow("two") }, since(headers.get("etag")));
    expect(late).toMatchObject({
      status: 412,
      body: { draft: null, base: { flow: echoFlow("one") }, change: { ended: true } },
    });
    const { body: steps } = await editor.get(`${path}/steps`);
    expect(steps.data).toMatchObject([
      { revision: 2, ended: true },
      { revision: 1, ended: false },
    ]);
    expect((await editor.get(`${path}/steps/1`)).body.flow).toEqual(echoFlow("one"));
    expect((await editor.get(`${path}/steps/2`)).body.flow).toBeNull();
    expect((await editor.get(`${path}/steps/3`)).status).toBe(404);
    const fresh = { headers: { "if-none-match": "*" } };
    expect((await editor.put(path, { flow: echoFlow("again") }, fresh)).body.revision).toBe(3);
  });

  it("is deleted when it is published as the next version, with notes", async () => {
    const path = await newProject(echoFlow("one"));
    const { headers } = await editor.put(path, { flow: echoFlow("two") });
    const first = headers.get("etag");
    await tenant.secret.put(path, { flow: echoFlow("three") });
    const publish = (more = {}, options = {}) =>
      editor.post(versionsOf(path), { draft: true, notes: "Three", ...more }, options);
    expect(await publish({}, since(first))).toMatchObject({ status: 412, body: { draft: { revision: 2 } } });
    const published = await publish();
    expect(published).toMatchObject({ status: 201, body: { version: 2, published: true, notes: "Three" } });
    expect((await editor.get(`${versionsOf(path)}/2`)).body.flow).toEqual(echoFlow("three"));
    expect((await editor.get(path)).status).toBe(404);
    expect(await publish()).toMatchObject({ status: 404, body: { detail: "Draft not found." } });
    const late = await editor.put(path, { flow: echoFlow("four") }, since(first));
    expect(late.body.change).toMatchObject({ published_as: 2, ended: true });
    expect(late.body.detail).toContain("published the draft as version 2");
  });

  it("gives its layout and notes to the version with the same content when it is published", async () => {
    const path = await newProject(echoFlow());
    const versions = versionsOf(path);
    const drawn = { ...echoFlow(), ui: { notes: [{ id: "n", text: "Why" }], positions: { "in-0": { x: 1, y: 2 } } } };
    await editor.post(versions, { flow: { ...echoFlow(), ui: { other: true } }, notes: "Deployed" });
    expect((await editor.get(`${versions}/1`)).body).toMatchObject({ notes: "", flow: echoFlow() });
    await editor.put(path, { flow: drawn });
    expect(await editor.post(versions, { draft: true, notes: "Drawn" })).toMatchObject({ status: 200 });
    const { body } = await editor.get(`${versions}/1`);
    expect([body.notes, body.flow]).toEqual(["Drawn", drawn]);
  });

  it("is not published if it changes after it was checked", async () => {
    const path = await newProject();
    await editor.put(path, { flow: echoFlow("checked") });
    const project_id = path.split("/")[3] ?? "";
    const { publishing } = await tenant.withDatabase((database) =>
      database.orgTransaction(tenant.org_id, async (db) => {
        await lockProject(db, project_id);
        const pid = await db.value<number>("select pg_backend_pid()");
        const deployment = editor.post(versionsOf(path), { draft: true });
        const waits = "select from pg_stat_activity where $1::int = any (pg_blocking_pids(pid))";
        await eventually("it waits for the project", () => database.system((other) => other.any(waits, [pid])));
        const step = { project_id, org_id: tenant.org_id, revision: 2, flow: echoFlow("unseen") };
        await insertDraftStep(db, { ...step, changed_by_type: "user", changed_by: randomUUID() });
        return { publishing: deployment };
      }),
    );
    expect((await publishing).status).toBe(412);
    expect((await editor.get(path)).body).toMatchObject({ revision: 2, flow: echoFlow("unseen") });
    expect((await editor.get(versionsOf(path))).body.data).toEqual([]);
  });

  it("describes its inputs and outputs for a form", async () => {
    const path = await newProject(echoFlow());
    const address = path.replace(/draft$/, "io-schema?draft=true");
    expect((await viewer.get(address)).status).toBe(404);
    const drafted = { id: "more", type: "input", config: { required: false } };
    await editor.put(path, { flow: { ...echoFlow(), nodes: [...(echoFlow()["nodes"] as []), drafted] } });
    const { status, body } = await viewer.get(address);
    expect([status, body.version, Object.keys(body.inputs.properties)]).toEqual([200, 0, ["in-0", "more"]]);
    await editor.put(path, { flow: { ...echoFlow(), nodes: [] } });
    expect((await viewer.get(address)).body.detail[0].loc.slice(0, 2)).toEqual(["query", "draft"]);
  });

  it("with errors is not published, and stays unchanged", async () => {
    const path = await newProject();
    await editor.put(path, { flow: echoFlow("{{ unclosed") });
    const { status, body } = await editor.post(versionsOf(path), { draft: true });
    expect([status, body.detail[0].loc]).toEqual([422, ["body", "draft", "nodes", 1, "config", "template"]]);
    expect((await editor.get(path)).body.revision).toBe(1);
    const both = await editor.post(versionsOf(path), { draft: true, flow: echoFlow() });
    expect(both.body.detail).toMatchObject([{ loc: ["body", "draft"], msg: "Send flow or draft, not both" }]);
  });

  it("can be read by viewers, and changed by editors of the project", async () => {
    const path = await newProject();
    const flow = echoFlow();
    await editor.put(path, { flow });
    expect((await viewer.get(path)).body.flow).toEqual(flow);
    expect((await viewer.get(`${path}/steps`)).status).toBe(200);
    const nobody = checkedClient(tenant.target);
    for (const [who, status] of [
      [viewer, 403],
      [tenant.public, 403],
      [nobody, 401],
      [stranger.secret, 404],
    ] as const) {
      const answers = await Promise.all([
        who.put(path, { flow }),
        who.delete(path),
        who.post(versionsOf(path), { draft: true }),
      ]);
      expect(answers.map((answer) => answer.status)).toEqual([status, status, status]);
    }
    for (const [who, status] of [
      [tenant.public, 403],
      [nobody, 401],
      [stranger.secret, 404],
    ] as const)
      expect(
        (await Promise.all([path, `${path}/steps`, `${path}/steps/1`].map((at) => who.get(at)))).map((a) => a.status),
      ).toEqual([status, status, status]);
    const { body: key } = await tenant.secret.post("/v2/api-keys", {
      name: "elsewhere",
      kind: "secret",
      projects: [(await newProject()).split("/")[3]],
    });
    expect((await checkedClient(tenant.target, key.key).put(path, { flow })).status).toBe(403);
  });

  it("is deleted with its project", async () => {
    const path = await newProject();
    await editor.put(path, { flow: echoFlow() });
    await editor.delete(path.replace(/\/draft$/, ""));
    expect((await editor.get(path)).body.detail).toBe("Project not found.");
    const project_id = path.split("/")[3];
    const rows = await tenant.withDatabase((database) =>
      database.system((db) => db.query("select from draft_steps where project_id = $1::uuid", [project_id])),
    );
    expect(rows).toEqual([]);
  });
});

describe("the steps of a draft", () => {
  it("are kept for a day, and after ten minutes one per minute and person; the newest is kept", async () => {
    const path = await newProject();
    const project_id = path.split("/")[3];
    const authors = [editor, editor, editor, tenant.secret, editor, editor, tenant.secret];
    for (const [at, author] of authors.entries()) await author.put(path, { flow: echoFlow(`${at}`) });
    const left = await tenant.withDatabase((database) =>
      database.system(async (db) => {
        const ages = ["26 hours", ...Array(4).fill("20 minutes"), "5 minutes", "5 minutes"];
        for (const [at, age] of ages.entries())
          await db.query(
            `update draft_steps set changed_at = date_trunc('minute', now()) - $3::interval + make_interval(secs => $2::int)
              where project_id = $1::uuid and revision = $2::int + 1`,
            [project_id, at, age],
          );
        await purgeDraftSteps(db, 1000);
        return db.column("select revision from draft_steps where project_id = $1::uuid order by revision", [
          project_id,
        ]);
      }),
    );
    expect(left).toEqual([3, 4, 5, 6, 7]);
  });
});
