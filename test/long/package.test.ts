import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, inject, it } from "vitest";
import { createOrganisation, startService } from "../support/service.ts";
import { scratchDirectory } from "../support/scratch.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a command in a folder that is not a checkout. */
function run(cwd: string, command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { PATH, HOME } = process.env;
  const result = spawnSync(command, args, { cwd, encoding: "utf8", env: { PATH, HOME, ...env }, timeout: 600_000 });
  expect([result.status, result.stderr.replaceAll(/^npm warn.*\n?/gm, "")], result.stdout).toEqual([
    0,
    expect.anything(),
  ]);
  return result.stdout;
}

it("the packed command line and the processes work outside the checkout", async () => {
  const folder = scratchDirectory();
  run(root, "npm", ["pack", "--silent", "--pack-destination", folder]);
  const [tarball = ""] = readdirSync(folder);
  expect(tarball).toMatch(/^millrace-.*\.tgz$/);
  const contents = run(folder, "tar", ["-tzf", tarball]);
  // The package contains nothing from this machine, and nothing that only a checkout needs.
  expect(contents).not.toMatch(/\.millrace|node_modules|\/test\/|dist\/bench|\/scripts\/|\.map\n/);

  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  run(folder, "npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional", `./${tarball}`]);
  const millrace = (args: readonly string[], env: Readonly<Record<string, string>> = {}): string =>
    run(folder, join(folder, "node_modules/.bin/millrace"), args, env);
  expect(millrace(["--version"])).toMatch(/^\d+\.\d+\.\d+/);

  const service = await startService();
  try {
    const organisation = await createOrganisation(service);
    const env = { MILLRACE_URL: service.url, MILLRACE_API_KEY: organisation.secretKey };
    const flow = join(folder, "node_modules/millrace/examples/flows/hello.json");
    millrace(["deploy", flow], env);
    expect(millrace(["run", "hello", "--input", "in-0=Ada"], env)).toContain("Hello, Ada!");
    expect(millrace(["migrate"], { DATABASE_URL: service.databaseUrl, LOG_LEVEL: "info" })).toContain("up to date");
    const { adminUrl } = inject("millrace");
    expect(millrace(["doctor"], { ...service.env, PGUSER: new URL(adminUrl).username })).toContain("No problems found");
  } finally {
    await service.close();
  }
});
