import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { spawnMillrace } from "./millrace.ts";
import type { Outcome } from "./millrace.ts";

/** Runs a main as `npm run` and the container do. */
async function main(name: string, environment: Readonly<Record<string, string>>): Promise<Outcome> {
  const program = fileURLToPath(new URL(`../../dist/src/${name}-main.js`, import.meta.url));
  const env = { PATH: process.env["PATH"], ...environment };
  return new Promise((resolve) => {
    execFile(process.execPath, [program], { env, cwd: "/" }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

describe.each([
  ["started by the command line", (name: string, env: Record<string, string>) => spawnMillrace([name], env)],
  ["started by itself", main],
])("a process %s", (_, start) => {
  it.each(["api", "worker", "migrate"])(
    "that is configured wrongly lists every problem and nothing else: %s",
    async (name) => {
      const outcome = await start(name, { DATABASE_URL: "x", PORT: "x", LOG_LEVEL: "loud" });
      expect(outcome).toMatchObject({ code: 1, stdout: "" });
      const [first, ...problems] = outcome.stderr.trimEnd().split("\n");
      expect(first).toBe("The configuration is not usable:");
      expect(problems.map((line) => line.split(":", 1)[0])).toEqual(["  DATABASE_URL", "  PORT", "  LOG_LEVEL"]);
    },
  );

  it("says why it cannot migrate, without a stack", async () => {
    const outcome = await start("migrate", { DATABASE_URL: "postgres://nobody@127.0.0.1:9/nowhere" });
    expect(outcome).toEqual({
      code: 1,
      stdout: "",
      stderr: "The database could not be migrated.\n  because: connect ECONNREFUSED 127.0.0.1:9\n",
    });
  });
});

describe("millrace dev", () => {
  it("starts nothing where api and worker would refuse the configuration", async () => {
    const outcome = await spawnMillrace(["dev"], { PORT: "x" });
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toMatch(/^The configuration is not usable:\n {2}PORT: .*\n$/);
  });
});
