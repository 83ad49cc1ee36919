import { beforeAll, expect, it } from "vitest";
import { echo, openTenant, type ApiTenant } from "../api/tenant.ts";
import { millrace } from "./millrace.ts";

let tenant: ApiTenant;
let environment: Record<string, string>;
beforeAll(async () => {
  tenant = await openTenant();
  environment = { MILLRACE_URL: tenant.target.url, MILLRACE_API_KEY: tenant.secretKey };
});
const erasures = (...args: string[]) => millrace(["erasures", ...args], environment);

it("erases a user after confirmation, waits for the result, and shows the report again", async () => {
  const project_id = await tenant.deploy(echo());
  await tenant.secret.patch(`/v2/projects/${project_id}`, { name: "Echoes" });
  const start = async (user_id: string) => {
    const run = { project_id, inputs: { "in-0": "x" }, user_id, mode: "sync" };
    return (await tenant.secret.post("/v2/runs", run)).body.run_id as string;
  };
  const [gone, kept] = [await start("ada-1"), await start("ada-2")];

  const asked = await erasures("start", "ada-1", "--project", "Echoes");
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining("ada-1 in the project Echoes")]);
  expect(asked.stderr).toContain("--yes");
  expect((await tenant.secret.get("/v2/erasures")).body.data).toEqual([]);

  const done = await erasures("start", "ada-1", "--project", "Echoes", "--yes", "--wait");
  expect([done.code, done.stdout], done.stderr).toEqual([0, expect.stringMatching(/^erasure \S+ {2}COMPLETED\n/)]);
  expect(done.stdout).toMatch(/^runs +1$/m);
  expect(done.stdout).toMatch(/^kept: .*audit/m);
  const id = done.stdout.split(" ")[1] ?? "";
  const { body } = await tenant.secret.get(`/v2/erasures/${id}`);
  expect(body).toMatchObject({ state: "COMPLETED", project_id });
  expect((await erasures("show", id)).stdout).toBe(done.stdout);
  expect(JSON.parse((await erasures("show", id, "--json")).stdout)).toEqual(body);
  expect((await erasures("list")).stdout).toMatch(new RegExp(`^${id} +COMPLETED +${project_id} `, "m"));
  expect((await tenant.secret.get(`/v2/runs/${gone}`)).status).toBe(404);
  expect((await tenant.secret.get(`/v2/runs/${kept}`)).status).toBe(200);
});

it("says how to show an erasure that is in progress", async () => {
  const { code, stdout, stderr } = await erasures("start", "nobody-1", "--yes");
  expect(code, stderr).toBe(0);
  const id = stdout.split(" ")[1] ?? "";
  expect(stdout).toContain(`erasures show ${id}`);
  expect((await tenant.secret.get(`/v2/erasures/${id}`)).body.project_id).toBeNull();
});

it("rejects an invalid ID, an unknown erasure and an unknown project", async () => {
  const unknown = await erasures("show", "no-id");
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("erasures list")]);
  const missing = await erasures("show", crypto.randomUUID());
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("404")]);
  const project = await erasures("start", "ada-1", "--project", "None", "--yes");
  expect([project.code, project.stderr]).toEqual([1, expect.stringContaining("Project None not found")]);
});
