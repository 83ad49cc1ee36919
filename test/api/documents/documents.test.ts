import { beforeAll, describe, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import type { Answer, TestClient } from "../../support/client.ts";
import { openTenant, problemText, type ApiTenant } from "../tenant.ts";

const UNKNOWN = "0197f0a0-0000-7000-8000-000000000000";
let tenant: ApiTenant;
let flowId: string;

const reading = () =>
  flow(
    [
      { id: "doc-0", type: "files" },
      { id: "out-0", type: "output" },
    ],
    ["doc-0>out-0"],
  );

beforeAll(async () => {
  tenant = await openTenant();
  flowId = await tenant.deploy(reading());
});

async function upload(
  user_id: string,
  filename: string,
  content = "text",
  by: ApiTenant = tenant,
  flow_id = flowId,
): Promise<string> {
  const form = new FormData();
  form.append("file", new Blob([content]), filename);
  const { status, body } = await by.public.post("/upload_to_storage_user", form, {
    query: { org: by.org_id, user_id, flow_id, node_id: "doc-0" },
  });
  expect(status).toBe(200);
  return body.file_id;
}
const address = (user_id: string, flow_id = flowId, org = tenant.org_id, node = "doc-0"): string =>
  `/documents/${org}/${flow_id}/${node}/${encodeURIComponent(user_id)}`;
const names = (answer: Answer): string[] => answer.body.data.map((each: { filename: string }) => each.filename);

describe("listing documents", () => {
  it("shows the uploads of exactly that user ID, page by page", async () => {
    for (const name of ["a.txt", "b.txt", "c.txt"]) await upload("list-1", name);
    await upload("list-10", "other.txt");
    expect(names(await tenant.public.get(address("list-1")))).toEqual(["c.txt", "b.txt", "a.txt"]);
    expect(names(await tenant.public.get(address("list-1"), { query: { filename: "b.txt" } }))).toEqual(["b.txt"]);
    const first = await tenant.public.get(address("list-1"), { query: { page_size: 2, order: "asc" } });
    expect([names(first), first.body.has_more]).toEqual([["a.txt", "b.txt"], true]);
    const second = await tenant.public.get(address("list-1"), {
      query: { page_size: 2, order: "asc", cursor: first.body.cursor },
    });
    expect([names(second), second.body.has_more]).toEqual([["c.txt"], false]);
    const elsewhere = await tenant.public.get(address("list-10"), {
      query: { page_size: 2, order: "asc", cursor: first.body.cursor },
    });
    expect(elsewhere.body.code).toBe("cursor_mismatch");
  });

  it("shows whether each document was read, and why not", async () => {
    await upload("read-1", "good.txt");
    await upload("read-1", "bad.pdf", "%PDF-1.7 nothing");
    const list = async () => (await tenant.public.get(address("read-1"), { query: { order: "asc" } })).body.data;
    await expect
      .poll(async () => (await list()).map((each: { status: string }) => each.status), { timeout: 20_000 })
      .toEqual(["indexed", "error"]);
    const [good, bad] = await list();
    expect(good).toMatchObject({ error: null, indexed_at: expect.any(String), mime_type: "text/plain", size: 4 });
    expect(bad).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) }, indexed_at: null });
  });

  it("accepts user IDs and names that look like paths, encodings or SQL", async () => {
    for (const [user_id, filename] of [
      ["a/b-1", "x.txt"],
      ["../..-1", "../x.txt"],
      ["100%-1", "%2e%2e.txt"],
      ["ä ö-1", "ü.txt"],
      ["' or 1=1 --", "'.txt"],
    ] as const) {
      await upload(user_id, filename);
      const answer = await tenant.public.get(address(user_id), { query: { filename } });
      expect([answer.status, names(answer)]).toEqual([200, [filename]]);
    }
  });
});

describe("deleting documents", () => {
  it("deletes one by name, then all; runs no longer see them", async () => {
    for (const name of ["a.txt", "b.txt", "c.txt"]) await upload("gone-1", name);
    await upload("gone-2", "a.txt");
    const path = address("gone-1");
    const gone = await tenant.public.delete(path, { query: { filename: "a.txt" } });
    expect([gone.status, gone.body]).toEqual([204, ""]);
    expect((await tenant.public.delete(path, { query: { filename: "a.txt" } })).status).toBe(404);
    expect(names(await tenant.public.get(path))).toEqual(["c.txt", "b.txt"]);
    expect((await tenant.public.delete(path)).status).toBe(204);
    expect((await tenant.public.delete(path)).status).toBe(204);
    expect(names(await tenant.public.get(path))).toEqual([]);
    const run = await tenant.public.post(`/inference/v0/run/${tenant.org_id}/${flowId}`, { user_id: "gone-1" });
    expect(run.body.outputs["out-0"].documents).toEqual([]);
    expect(names(await tenant.public.get(address("gone-2")))).toEqual(["a.txt"]);
  });

  it("still lists and deletes documents after the flow has lost their node", async () => {
    const changing = await tenant.deploy(reading());
    await upload("late-1", "a.txt", "text", tenant, changing);
    const without = flow([{ id: "out-0", type: "output", config: { value: "x" } }], []);
    await tenant.secret.post(`/v2/projects/${changing}/versions`, { flow: without });
    expect(names(await tenant.public.get(address("late-1", changing)))).toEqual(["a.txt"]);
    expect((await tenant.public.delete(address("late-1", changing))).status).toBe(204);
  });
});

describe("cross-tenant: documents of another organisation", () => {
  it("return the same 404 bytes as unknown ones, and are kept", async () => {
    const other = await openTenant(tenant.target);
    const theirs = await other.deploy(reading());
    await upload("theirs-1", "secret.txt", "text", other, theirs);
    for (const call of ["get", "delete"] as const) {
      const answers = await Promise.all(
        [
          address("theirs-1", theirs, other.org_id),
          address("theirs-1", theirs),
          address("theirs-1", UNKNOWN),
          address("theirs-1", flowId, other.org_id),
        ].map((path) => tenant.public[call](path)),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(4).fill(404));
      expect(new Set(answers.map(problemText)).size).toBe(1);
      const malformed = await tenant.public[call](address("theirs-1", "x"));
      expect([malformed.status, malformed.body.detail[0].loc]).toEqual([422, ["path", "flow"]]);
    }
    expect(names(await other.public.get(address("theirs-1", theirs, other.org_id)))).toEqual(["secret.txt"]);
  });
});

describe("access to documents", () => {
  it("lets a viewer see and an editor delete them", async () => {
    await upload("roles-1", "a.txt");
    const viewer: TestClient = await tenant.user("viewer");
    expect((await viewer.get(address("roles-1"))).status).toBe(200);
    expect((await viewer.delete(address("roles-1"))).status).toBe(403);
    expect((await (await tenant.user("editor")).delete(address("roles-1"))).status).toBe(204);
  });

  it("returns 422 for invalid parameters", async () => {
    expect((await tenant.public.get(address("u".repeat(257)))).status).toBe(422);
    expect((await tenant.public.get(address("a\nb"))).status).toBe(422);
    expect((await tenant.public.get(address("a"), { query: { filename: "n".repeat(256) } })).status).toBe(422);
    expect((await tenant.public.delete(address("a"), { query: { name: "x" } })).status).toBe(422);
  });
});
