import { execFile, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { isAlive } from "../../src/dev/processes.ts";
import { claimPort } from "../../src/dev/ports.ts";
import { eventually, scratchDirectory } from "../support/scratch.ts";
import { claimedSetting, claimingDatabase, cloneDatabase } from "../support/database.ts";
import { MASTER_KEY } from "../support/payloads.ts";
import { millrace, spawnMillrace, type Outcome } from "./millrace.ts";

/** Runs a main file as `npm run` and the container do. */
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
  ["started alone", main],
])("a process %s", (_, start) => {
  it.each(["api", "worker", "migrate"])(
    "with an invalid configuration prints every problem and nothing else: %s",
    async (name) => {
      const wrong = { DATABASE_URL: "x", PORT: "x", LOG_LEVEL: "loud", MILLRACE_BLOB_URI: "/data" };
      const outcome = await start(name, wrong);
      expect(outcome).toMatchObject({ code: 1, stdout: "" });
      const [first, ...problems] = outcome.stderr.trimEnd().split("\n");
      expect(first).toBe("The configuration is not valid:");
      expect(problems).toEqual([
        "  DATABASE_URL: must look like postgres://user:password@host:5432/database",
        "  PORT: must be a whole number from 0 to 65535",
        "  LOG_LEVEL: must be one of fatal, error, warn, info, debug, trace, silent",
        "  MILLRACE_BLOB_URI is not a setting and has no effect; did you mean MILLRACE_BLOB_URL?",
      ]);
    },
  );

  it("prints why it cannot migrate, without a stack trace", async () => {
    const outcome = await start("migrate", { DATABASE_URL: "postgres://nobody@127.0.0.1:9/nowhere" });
    expect(outcome).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "Could not migrate the database.\n  because: Postgres at 127.0.0.1:9/nowhere: connect ECONNREFUSED 127.0.0.1:9. Start it, or correct DATABASE_URL (host, port).\n",
    });
  });
});

describe("millrace dev", () => {
  it("starts nothing if api or worker would reject the configuration", async () => {
    const outcome = await spawnMillrace(["dev"], { PORT: "x" });
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toMatch(/^The configuration is not valid:\n {2}PORT: .*\n$/);
  });
});

describe("npm run", () => {
  it("leaves no process running after SIGTERM: api and worker", async () => {
    const clone = await cloneDatabase();
    onTestFinished(() => clone.drop());
    const pids = await Promise.all(
      ["api", "worker"].map(async (name) => {
        const port = String(await claimPort());
        const env = {
          ...process.env,
          DATABASE_URL: clone.url,
          TEMPORAL_ADDRESS: inject("millrace").temporalAddress,
          MILLRACE_TASK_QUEUE: `npm-${process.pid}`,
          MILLRACE_BLOB_URL: scratchDirectory(),
          MILLRACE_MASTER_KEY: MASTER_KEY,
          HOST: "127.0.0.1",
          ...(name === "api" ? { PORT: port } : { MILLRACE_WORKER_PORT: port }),
        };
        const cwd = fileURLToPath(new URL("../..", import.meta.url));
        const npm = spawn("npm", ["run", "--silent", name], { env, cwd, stdio: ["ignore", "pipe", "ignore"] });
        let output = "";
        npm.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
        onTestFinished(() => void npm.kill("SIGKILL"));
        await eventually(`the ${name} is ready`, () => output.includes(`"${name} ready"`), 60_000);
        const [, pid = ""] = /"pid":(\d+)/.exec(output) ?? [];
        npm.kill("SIGTERM");
        return Number(pid);
      }),
    );
    for (const pid of pids) {
      expect(pid).toBeGreaterThan(0);
      onTestFinished(() => void (isAlive(pid) && process.kill(pid, "SIGKILL")));
      await eventually("it has ended", () => !isAlive(pid), 60_000);
    }
  });
});

/** A database whose server reports another version. */
async function serverOfVersion(number: number): Promise<string> {
  const { url, drop } = await claimingDatabase(claimedSetting("server_version_num", String(number)));
  onTestFinished(drop);
  return url;
}

describe("a value that a process cannot use", () => {
  it.each(["api", "worker"])(
    "is reported with its setting and without a stack trace if it is a blob directory: %s",
    async (name) => {
      const file = join(scratchDirectory(), "file");
      writeFileSync(file, "");
      const clone = await cloneDatabase();
      onTestFinished(() => clone.drop());
      const env = { DATABASE_URL: clone.url, MILLRACE_BLOB_URL: file, MILLRACE_MASTER_KEY: MASTER_KEY };
      expect(await main(name, env)).toEqual({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(`^MILLRACE_BLOB_URL: ${file} cannot be used as a directory: .*\n$`),
      });
    },
  );

  it.each([
    ["api", "PORT"],
    ["api", "MILLRACE_METRICS_PORT"],
    ["worker", "MILLRACE_WORKER_PORT"],
  ])("is reported with its setting if it is a port that is in use: %s, %s", async (name, setting) => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    const clone = await cloneDatabase();
    onTestFinished(() => clone.drop());
    const { code, stdout } = await main(name, {
      DATABASE_URL: clone.url,
      TEMPORAL_ADDRESS: inject("millrace").temporalAddress,
      MILLRACE_TASK_QUEUE: `taken-${port}`,
      MILLRACE_MASTER_KEY: MASTER_KEY,
      MILLRACE_BLOB_URL: scratchDirectory(),
      HOST: "127.0.0.1",
      PORT: "0",
      [setting]: String(port),
    });
    expect(code).toBe(1);
    const fatal = stdout.split("\n").find((line) => line.includes('"fatal"')) ?? "{}";
    const { err } = JSON.parse(fatal) as { err: { message: string } };
    expect(err.message).toContain(`${setting}: cannot listen at 127.0.0.1:${port} (EADDRINUSE). `);
  });
});

describe("an unsupported PostgreSQL version", () => {
  it("is rejected by every process, with only the setting and the supported range", async () => {
    const env = { DATABASE_URL: await serverOfVersion(140_012), TEMPORAL_ADDRESS: inject("millrace").temporalAddress };
    const refusal = "Millrace runs on PostgreSQL 15 to 18, and this server is 14.";
    const [migrate, ...services] = await Promise.all(["migrate", "api", "worker"].map((name) => main(name, env)));
    for (const service of services)
      expect(service).toEqual({ code: 1, stdout: "", stderr: `DATABASE_URL: ${refusal}\n` });
    expect(migrate).toMatchObject({ code: 1, stderr: expect.stringContaining(refusal) });
    const doctor = await millrace(["doctor"], env);
    expect(doctor).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/PROBLEM +Postgres +Millrace runs on PostgreSQL 15 to 18/),
    });
  });

  it("is rejected if it is too new", async () => {
    const { code, stderr } = await main("migrate", { DATABASE_URL: await serverOfVersion(190_000) });
    expect([code, stderr]).toEqual([1, expect.stringContaining("15 to 18, and this server is 19.")]);
  });
});
