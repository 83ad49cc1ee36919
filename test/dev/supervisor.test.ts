import { describe, expect, it } from "vitest";
import { supervise, type Part } from "../../src/dev/supervisor.ts";
import { eventually } from "../support/scratch.ts";

/** Fake parts that exit on command, and the messages about them. */
function stage() {
  const parts: (Part & { end: (cause: string) => void })[] = [];
  const said: string[] = [];
  let failures = 0;
  const start = async (): Promise<Part> => {
    if (failures > 0) {
      failures--;
      throw new Error("no room");
    }
    let end = (_cause: string): void => undefined;
    const ended = new Promise<string>((resolve) => (end = resolve));
    const part = { pid: 1000 + parts.length, ended, end, stop: async () => end("stopped") };
    parts.push(part);
    return part;
  };
  const options = { name: "api", start, say: (line: string) => void said.push(line), delayMs: 10, maxDelayMs: 40 };
  return { parts, said, options, failNext: (count: number) => void (failures = count) };
}

describe("supervise", () => {
  it("restarts a process that exits unexpectedly, and reports why", async () => {
    const { parts, said, options } = stage();
    const supervised = await supervise(options);
    parts[0]?.end("signal SIGKILL");
    await eventually("a second one", () => parts.length === 2 && said.length === 2);
    expect(said).toEqual([
      "api (process 1000) stopped: signal SIGKILL. Restarting it in 0.01 s.",
      "api is running again (process 1001).",
    ]);
    await supervised.stop();
  });

  it("retries a restart until it succeeds", async () => {
    const { parts, said, options, failNext } = stage();
    const supervised = await supervise(options);
    failNext(3);
    parts[0]?.end("exit code 1");
    await eventually("a second one", () => parts.length === 2);
    expect(said.filter((line) => line.includes("no room"))).toHaveLength(3);
    await supervised.stop();
  });

  it("waits longer each time a process exits soon after its start", async () => {
    const { parts, said, options } = stage();
    const supervised = await supervise(options);
    for (let index = 0; index < 4; index++) {
      await eventually(`part ${index}`, () => parts.length === index + 1);
      parts[index]?.end("exit code 1");
    }
    await eventually("four messages", () => said.filter((line) => line.includes("Restarting it")).length === 4);
    expect(said.flatMap((line) => /Restarting it in ([\d.]+) s/.exec(line)?.[1] ?? [])).toEqual([
      "0.01",
      "0.02",
      "0.04",
      "0.04",
    ]);
    await supervised.stop();
  });

  it("restarts nothing after it is stopped, not even during a wait", async () => {
    const { parts, options } = stage();
    const supervised = await supervise({ ...options, delayMs: 60_000, maxDelayMs: 60_000 });
    parts[0]?.end("exit code 1");
    await supervised.stop();
    expect(parts).toHaveLength(1);
  });

  it("fails when the first start fails", async () => {
    const { options, failNext } = stage();
    failNext(1);
    await expect(supervise(options)).rejects.toThrow("no room");
  });
});
