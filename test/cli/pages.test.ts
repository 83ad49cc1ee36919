import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { echo, openTenant } from "../api/tenant.ts";
import { millrace } from "./millrace.ts";

it("publishes, lists, changes and revokes a page", async () => {
  const tenant = await openTenant();
  const environment = { MILLRACE_URL: tenant.target.url, MILLRACE_API_KEY: tenant.secretKey };
  const pages = (...args: string[]) => millrace(["pages", ...args], environment);
  const project = await tenant.deploy(echo());
  const file = join(mkdtempSync(join(tmpdir(), "pages-")), "password");
  writeFileSync(file, "tulip-and-harbour\n");

  const made = await pages(
    "publish",
    project,
    "chat",
    "--name",
    "Hats",
    "--password-file",
    file,
    "--rate",
    "visitor=3",
  );
  expect(made.code, made.stderr).toBe(0);
  const [, id = "", url = ""] = /^(\S+) {2}chat\n(\S+)\n$/.exec(made.stdout) ?? [];
  const path = `/v2/projects/${project}/pages/${id}`;
  const { body } = await tenant.secret.get(path);
  expect(body).toMatchObject({
    url,
    look: { name: "Hats" },
    has_password: true,
    rate_limits: { visitor: 3, page: 60 },
  });
  expect((await pages("list", project, "--status", "active")).stdout).toMatch(
    new RegExp(`^${id} +chat +active .*${url}$`, "m"),
  );

  const changed = await pages("change", project, id, "--no-password", "--origins", "https://shop.example");
  expect(changed.code, changed.stderr).toBe(0);
  expect((await tenant.secret.get(path)).body).toMatchObject({
    has_password: false,
    origins: ["https://shop.example"],
  });
  const nothing = await pages("change", project, id);
  expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining("Pass what to change")]);
  const rate = await pages("publish", project, "form", "--rate", "visitor=0");
  expect([rate.code, rate.stderr]).toEqual([2, expect.stringContaining("page=60,visitor=10,network=30")]);

  expect((await pages("revoke", project, id)).stdout).toContain(`revoked ${id}`);
  expect((await tenant.secret.get(path)).body.status).toBe("revoked");
});
