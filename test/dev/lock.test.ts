import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { lockState, StateInUse } from "../../src/dev/lock.ts";
import { identity, isAlive } from "../../src/dev/processes.ts";
import { eventually, scratchDirectory } from "../support/scratch.ts";

async function someProcess(): Promise<number> {
  const child = spawn("sleep", ["300"], { detached: true });
  await once(child, "spawn");
  onTestFinished(() => void child.kill("SIGKILL"));
  return child.pid ?? 0;
}

const quiet = (): void => undefined;

describe("the lock of a state folder", () => {
  it("is refused while its owner is alive, and the error names the owner", async () => {
    const dir = scratchDirectory();
    const owner = await someProcess();
    const lock = { pid: owner, identity: identity(owner), since: "2030-01-01T00:00:00.000Z", children: {} };
    writeFileSync(join(dir, "lock"), JSON.stringify(lock));
    const refusal = await lockState(dir, quiet).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StateInUse);
    expect((refusal as Error).message).toContain(`process ${owner}`);
  });

  it("passes on from a killed owner, and its child processes are stopped", async () => {
    const dir = scratchDirectory();
    const child = await someProcess();
    const children = { api: { pid: child, identity: identity(child) } };
    writeFileSync(join(dir, "lock"), JSON.stringify({ pid: 1, identity: "an earlier boot/1", since: "", children }));
    const said: string[] = [];
    const lock = await lockState(dir, (line) => said.push(line));
    await eventually("the child is gone", () => !isAlive(child));
    expect(said.join("\n")).toContain(`api (process ${child})`);
    lock.release();
  });

  it("does not stop a process that only reuses the ID of an exited child", async () => {
    const dir = scratchDirectory();
    const stranger = await someProcess();
    const children = { api: { pid: stranger, identity: "an earlier boot/7" } };
    writeFileSync(join(dir, "lock"), JSON.stringify({ pid: 1, identity: "an earlier boot/1", since: "", children }));
    const lock = await lockState(dir, quiet);
    expect(isAlive(stranger)).toBe(true);
    lock.release();
  });

  it("passes on if its owner was killed while writing the lock", async () => {
    const dir = scratchDirectory();
    writeFileSync(join(dir, "lock"), "");
    const lock = await lockState(dir, quiet);
    lock.note("api", process.pid);
    expect(JSON.parse(readFileSync(join(dir, "lock"), "utf8"))).toMatchObject({
      pid: process.pid,
      children: { api: { pid: process.pid } },
    });
    lock.release();
  });

  it("is free again once released", async () => {
    const dir = scratchDirectory();
    (await lockState(dir, quiet)).release();
    (await lockState(dir, quiet)).release();
  });
});
