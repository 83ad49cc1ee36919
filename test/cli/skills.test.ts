import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openTenant } from "../api/tenant.ts";
import { scratchDirectory } from "../support/scratch.ts";
import { millrace } from "./millrace.ts";

it("uploads a folder as a skill, then as a new version of it", async () => {
  const tenant = await openTenant();
  const environment = { MILLRACE_URL: tenant.target.url, MILLRACE_API_KEY: tenant.secretKey };
  const folder = scratchDirectory();
  const write = (path: string, text: string): void => writeFileSync(join(folder, path), text);
  mkdirSync(join(folder, "references"));
  mkdirSync(join(folder, ".git"));
  write("SKILL.md", "---\nname: refunds\ndescription: How refunds are decided.\n---\n# Refunds\n");
  write("references/exceptions.md", "none");
  write(".git/config", "x");

  const first = await millrace(["skills", "push", folder], environment);
  expect([first.code, first.stdout], first.stderr).toEqual([0, expect.stringContaining("refunds, version 1")]);
  const [id = ""] = first.stdout.split(" ");
  const { body } = await tenant.secret.get(`/v2/skills/${id}/versions/1`);
  expect(body.files).toMatchObject([{ path: "SKILL.md" }, { path: "references/exceptions.md", size: 4 }]);
  expect((await millrace(["skills", "push", folder], environment)).stdout).toBe(first.stdout);
  write("references/exceptions.md", "some");
  const second = await millrace(["skills", "push", folder, "--default"], environment);
  expect(second.stdout).toContain(`${id}  refunds, version 2 (default version: 2)`);
  expect((await millrace(["skills", "list"], environment)).stdout).toMatch(new RegExp(`${id} +refunds +2 +2 +2 +\\d+`));

  const other = await millrace(["skills", "delete", "no-id"], environment);
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("skills list")]);
  expect((await millrace(["skills", "delete", id], environment)).stdout).toBe(`deleted ${id}\n`);
  expect((await millrace(["skills", "list"], environment)).stdout).not.toContain(id);

  write("SKILL.md", "# No front matter");
  const bad = await millrace(["skills", "push", folder], environment);
  expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining("body.files.SKILL.md.front matter")]);
  symlinkSync("/etc/passwd", join(folder, "link"));
  const link = await millrace(["skills", "push", folder], environment);
  expect([link.code, link.stderr]).toEqual([2, expect.stringContaining("link is a link")]);
  expect((await millrace(["skills", "push", join(folder, "none")], environment)).code).toBe(2);
});
