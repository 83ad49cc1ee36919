import { expect, it } from "vitest";
import { echo, openTenant } from "../api/tenant.ts";
import { newUser } from "../api/accounts/accounts.ts";
import { millrace } from "./millrace.ts";

it("sets, changes, lists and removes a user's role in a project", async () => {
  const tenant = await openTenant();
  const environment = { MILLRACE_URL: tenant.target.url, MILLRACE_API_KEY: tenant.secretKey };
  const members = (...args: string[]) => millrace(["projects", "members", ...args], environment);
  const project_id = await tenant.deploy(echo());
  await tenant.secret.patch(`/v2/projects/${project_id}`, { name: "Shared" });
  const user = { org_id: tenant.org_id, email: "grace@example.test", role: "member" } as const;
  const { user_id, email } = await tenant.withDatabase((database) => newUser(database, user));
  const listed = async () => (await members("list", "Shared")).stdout;

  const set = await members("set", "Shared", user_id, "viewer");
  expect([set.code, set.stdout], set.stderr).toEqual([0, `${user_id}  ${email}, viewer\n`]);
  expect(await listed()).toMatch(new RegExp(`^${user_id} +${email} +viewer$`, "m"));
  expect((await members("set", project_id, user_id, "editor")).code).toBe(0);
  expect(await listed()).toMatch(new RegExp(`^${user_id} +${email} +editor$`, "m"));
  expect((await members("remove", "Shared", user_id)).stdout).toBe(`removed ${user_id}\n`);
  expect(await listed()).not.toContain(user_id);

  const byAddress = await members("set", "Shared", "Grace@Example.test", "editor");
  expect([byAddress.code, byAddress.stdout], byAddress.stderr).toEqual([0, `${user_id}  ${email}, editor\n`]);
  expect((await members("remove", "Shared", email)).stdout).toBe(`removed ${user_id}\n`);
  expect(await listed()).not.toContain(user_id);
  const nobody = await members("set", "Shared", "nobody@example.test", "editor");
  expect([nobody.code, nobody.stderr]).toEqual([
    1,
    expect.stringContaining("has the e-mail address nobody@example.test"),
  ]);

  const role = await members("set", "Shared", user_id, "member");
  expect([role.code, role.stderr]).toEqual([2, expect.stringContaining("viewer, editor, admin")]);
  const id = await members("set", "Shared", "ada", "viewer");
  expect([id.code, id.stderr]).toEqual([2, expect.stringContaining("ID of a user")]);
  const project = await members("list", "None");
  expect([project.code, project.stderr]).toEqual([1, expect.stringContaining("Project None not found")]);
});
