import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DevState } from "../../src/cli/dev-state.ts";
import { isAlive } from "../../src/dev/processes.ts";
import { LONG } from "../support/long.ts";
import { client } from "../support/service.ts";
import { eventually, scratchDirectory } from "../support/scratch.ts";

const program = fileURLToPath(new URL("../../dist/src/cli-main.js", import.meta.url));
const START_MS = 120_000;

/** Starts `millrace dev` as `npm start` does, with its state in `directory`. */
function start(directory: string, port = "0") {
  const env: NodeJS.ProcessEnv = { ...process.env, PORT: port };
  for (const name of ["DATABASE_URL", "TEMPORAL_ADDRESS"]) delete env[name];
  const child = spawn(process.execPath, [program, "dev"], { cwd: directory, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<number | string>((resolve) =>
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "")),
  );
  const state = join(directory, ".millrace");
  const children = (): Record<string, { pid: number }> =>
    (JSON.parse(readFileSync(join(state, "lock"), "utf8")) as { children: Record<string, { pid: number }> }).children;
  onTestFinished(async () => {
    child.kill("SIGINT");
    await ended;
  });
  return {
    child,
    ended,
    pids: () => Object.values(children()).map(({ pid }) => pid),
    output: () => output,
    pidOf: (name: string) => children()[name]?.pid ?? 0,
    state: () => JSON.parse(readFileSync(join(state, "dev.json"), "utf8")) as DevState,
    ready: () => eventually(`ready:\n${output}`, () => output.includes("Millrace is ready"), START_MS),
    said: (text: string) => eventually(`"${text}" in\n${output}`, () => output.includes(text), START_MS),
  };
}

describe("npm start", () => {
  it.skipIf(LONG)("runs a real flow on a real document, and after a kill starts again with all data", async () => {
    const directory = scratchDirectory();
    const first = start(directory);
    await first.ready();
    expect(first.output()).toMatch(/Run \S+ of the flow document-brief: COMPLETED/);
    expect(first.output()).toContain("curl -s");
    expect(first.output()).not.toContain("examples failed");
    expect(first.output()).toContain("/docs");

    const state = first.state();
    expect(Object.keys(state).toSorted()).toEqual(
      "admin_email admin_password database_url org_id projects public_key secret_key temporal_address temporal_ui url".split(
        " ",
      ),
    );
    expect(statSync(join(directory, ".millrace/dev.json")).mode & 0o777).toBe(0o600);
    expect(Object.keys(state.projects)).toEqual(expect.arrayContaining(["hello", "review", "document-brief"]));
    // The documents are indexed after the start, when the model is ready.
    await first.said("The flow ask-constitution searches documents");
    const api = client(state, state.secret_key);
    // Examples that call the server get its actual port.
    const fetching = await api.get(`/v2/projects/${state.projects["fetch"]}/io-schema`);
    expect(JSON.stringify(fetching.body)).toContain(`${state.url}/healthz`);
    const bases = (await api.get("/v2/knowledge-bases")).body.data;
    expect(bases).toMatchObject([{ name: "constitution", total_files: 3 }]);
    const before = (await api.get("/v2/runs")).body.data as { run_id: string }[];
    expect(before).toHaveLength(1);

    const refused = start(directory);
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toContain(`: process ${first.child.pid}`);

    const pids = first.pids();
    first.child.kill("SIGKILL");
    await first.ended;
    // The same port, because the examples contain the URL of the server.
    const second = start(directory, new URL(state.url).port);
    await second.ready();
    expect(second.output()).toContain("was not shut down cleanly");
    expect(pids.filter(isAlive)).toEqual([]);
    expect(second.output()).toContain("unchanged");
    const { org_id, secret_key, projects, url } = second.state();
    expect({ org_id, secret_key }).toEqual({ org_id: state.org_id, secret_key: state.secret_key });
    expect(projects).toMatchObject(state.projects);
    const after = (await client({ url }, secret_key).get("/v2/runs")).body.data as { run_id: string }[];
    expect(after.map((run) => run.run_id)).toContain(before[0]?.run_id);

    const running = second.pids();
    second.child.kill("SIGINT");
    expect(await second.ended).toBe(0);
    expect(running.filter(isAlive)).toEqual([]);
    expect(existsSync(join(directory, ".millrace/lock"))).toBe(false);
  });

  it.runIf(LONG)("restarts killed processes, and reports it", { timeout: 180_000 }, async () => {
    const run = start(scratchDirectory());
    await run.ready();
    const { url, secret_key, projects } = run.state();
    for (const name of ["api", "worker", "PostgreSQL", "Temporal"]) {
      const pid = run.pidOf(name);
      process.kill(pid, "SIGKILL");
      await run.said(`${name} (process ${pid}) stopped: signal SIGKILL`);
      await run.said(
        `${name} is running again (process ${await eventually("a new one", () => run.pidOf(name) !== pid && run.pidOf(name))})`,
      );
    }
    const api = client({ url }, secret_key);
    const answer = await eventually(
      "a run completes",
      async () => {
        const started = await api
          .post("/v2/runs", { project_id: projects["hello"], inputs: { "in-0": "Ada" }, mode: "sync" })
          .catch(() => undefined);
        return started?.status === 201 && started.body.state === "COMPLETED" && started.body;
      },
      60_000,
    );
    expect(answer.outputs).toEqual({ "out-0": "Hello, Ada!" });
  });

  it.runIf(LONG)(
    "treats the two signals of one Ctrl-C under npm as one, and a later signal as a forced stop",
    async () => {
      const run = start(scratchDirectory());
      await run.ready();
      const pids = run.pids();
      // A worker that does not exit delays the stop.
      process.kill(run.pidOf("worker"), "SIGSTOP");
      run.child.kill("SIGINT");
      run.child.kill("SIGINT");
      await new Promise((resolve) => setTimeout(resolve, 800));
      expect(run.child.exitCode).toBeNull();
      run.child.kill("SIGINT");
      expect(await run.ended).toBe(130);
      await eventually("no process is left", () => !pids.some(isAlive));
    },
  );

  it.runIf(LONG)("stops cleanly if the signal comes during the start", async () => {
    const directory = scratchDirectory();
    const run = start(directory);
    await run.said("PostgreSQL  ");
    run.child.kill("SIGTERM");
    expect(await run.ended).toBe(0);
    expect(existsSync(join(directory, ".millrace/lock"))).toBe(false);
    expect(existsSync(join(directory, ".millrace/postgres/data/postmaster.pid"))).toBe(false);
  });
});
