import { beforeAll, describe, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import { asking, echo, openTenant, type ApiTenant } from "../tenant.ts";
import { consulting, publish } from "./published.ts";

let tenant: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
});

describe("publishing a page", () => {
  it("gives it an unguessable URL, lists it, changes it and revokes it for good", async () => {
    const { page, path } = await publish(tenant, consulting(), {
      look: { colour: "#1F6FEB" },
      origins: ["https://shop.example"],
      password: "tulip-and-harbour",
      visitor_pauses: ["approval-0"],
    });
    expect(page).toMatchObject({
      kind: "form",
      environment: "production",
      status: "active",
      look: { name: "test", colour: "#1f6feb", welcome: null },
      has_password: true,
      rate_limits: { page: 60, visitor: 10, network: 30 },
      revoked_at: null,
    });
    expect(page.url).toMatch(/^https?:\/\/[^/]+\/f\/[\w-]{43}$/);
    const pages = path.replace(/\/[^/]+$/, "");
    const { body: list } = await tenant.secret.get(pages, { query: { status: "active" } });
    expect(list.data).toEqual([page]);
    const changed = await tenant.secret.patch(path, {
      look: { welcome: "Hello" },
      rate_limits: { page: 5 },
      password: null,
    });
    expect(changed.body).toMatchObject({
      look: { name: "test", colour: "#1f6feb", welcome: "Hello" },
      rate_limits: { page: 5, visitor: 10 },
      has_password: false,
      url: page.url,
    });
    const late = await tenant.secret.patch(path, { look: { welcome: null } }, { headers: { "if-match": '"r1"' } });
    expect(late.status).toBe(412);
    expect((await tenant.secret.delete(path)).status).toBe(204);
    expect((await tenant.secret.delete(path)).status).toBe(404);
    expect((await tenant.secret.patch(path, { origins: [] })).status).toBe(409);
    expect((await tenant.secret.get(path)).body).toMatchObject({ status: "revoked", revoked_at: expect.any(String) });
    const { body: log } = await tenant.secret.get("/v2/audit-log", { query: { target: page.page_id } });
    expect(log.data.map(({ operation }: { operation: string }) => operation)).toEqual([
      "revokePage",
      "changePage",
      "createPage",
    ]);
    const token = page.url.split("/").at(-1);
    expect(JSON.stringify(log.data)).not.toContain(token);
    expect(JSON.stringify(log.data)).not.toContain("tulip");
  });

  it("rejects what does not fit the flow, with the location", async () => {
    const two = flow(
      [
        { id: "in-0", type: "input" },
        { id: "in-1", type: "input" },
        { id: "out-0", type: "output" },
      ],
      ["in-0>out-0", "in-1>out-0"],
    );
    const refused = async (definition: Parameters<typeof publish>[1], fields: object) => {
      const project = await tenant.deploy(definition);
      const { status, body } = await tenant.secret.post(`/v2/projects/${project}/pages`, { kind: "form", ...fields });
      return [status, body.detail?.[0]?.loc?.join(".") ?? body.code];
    };
    expect(await refused(two, { kind: "chat" })).toEqual([422, "body.kind"]);
    expect(await refused(echo(), { visitor_pauses: ["approval-0"] })).toEqual([422, "body.visitor_pauses.0"]);
    expect(await refused(asking(), { visitor_pauses: ["approval-0"], expires_at: "2020-01-01T00:00:00Z" })).toEqual([
      422,
      "body.expires_at",
    ]);
    for (const origin of [
      "*",
      "https://a.example/",
      "javascript:alert(1)",
      "https://*.example",
      "https://a;sandbox",
      "https://a.example,b",
    ])
      expect(await refused(echo(), { origins: [origin] })).toEqual([422, "body.origins.0"]);
    expect(await refused(echo(), { password: "short" })).toEqual([422, "body.password"]);
    expect(await refused(echo(), { look: { colour: "red; background: url(//x)" } })).toEqual([422, "body.look.colour"]);
    const { body: empty } = await tenant.secret.post("/v2/projects", { name: "empty" });
    const unpublished = await tenant.secret.post(`/v2/projects/${empty.project_id}/pages`, { kind: "form" });
    expect([unpublished.status, unpublished.body.code]).toEqual([409, "environment_empty"]);
  });

  it("is for admins; others of the organisation read", async () => {
    const { path } = await publish(tenant, echo());
    const pages = path.replace(/\/[^/]+$/, "");
    for (const role of ["viewer", "editor"] as const) {
      const user = await tenant.user(role);
      expect((await user.get(path)).status).toBe(200);
      expect((await user.post(pages, { kind: "form" })).status).toBe(403);
      expect((await user.delete(path)).status).toBe(403);
    }
    expect((await tenant.public.get(path)).status).toBe(403);
  });

  it("ends with its project", async () => {
    const { page, door, nobody } = await publish(tenant, echo());
    expect((await tenant.secret.delete(`/v2/projects/${page.project_id}`)).status).toBe(204);
    await expect.poll(async () => (await nobody.get(`${door}/page`)).status).toBe(404);
  });
});

describe("conversations of the console", () => {
  it("have a title, also where no model remembers anything, and are listed by user", async () => {
    const project = await tenant.deploy(echo());
    const path = `/v2/projects/${project}/conversations`;
    for (const [user_id, title] of [
      ["ada-1", "Hats"],
      ["ada-2", "Gloves"],
      ["adam-1", "Other"],
    ] as const)
      expect((await tenant.secret.patch(`${path}/${user_id}`, { title })).body).toMatchObject({
        title,
        turns: 0,
        page_id: null,
      });
    await tenant.secret.patch(`${path}/ada-1`, { title: null });
    const { body } = await tenant.secret.get(path, { query: { user: "ada" } });
    expect(body.data.map((each: { user_id: string; title: string }) => [each.user_id, each.title])).toEqual([
      ["ada-2", "Gloves"],
      ["ada-1", null],
    ]);
    expect((await tenant.secret.delete(`${path}/ada-1`)).status).toBe(204);
    expect((await tenant.secret.delete(`${path}/ada-1`)).status).toBe(404);
  });
});
