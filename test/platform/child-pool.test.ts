import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createChildPool, type ChildPool, type ChildPoolOptions } from "../../src/platform/children/child-pool.ts";
import { compiledEntry, readableByChild } from "../../src/platform/children/entry.ts";
import type { Frame } from "../../src/platform/children/frames.ts";
import type { ChildRequest } from "../../src/platform/children/spawn.ts";
import type { Json } from "../../src/domain/json.ts";
import { createTimeLimit } from "../../src/platform/time-limit.ts";

const MIB = 1024 * 1024;
const serve = compiledEntry(new URL("../../src/platform/children/serve.ts", import.meta.url));

/** A child that executes any command, including hostile ones. */
const CHILD = `
import { execSync } from "node:child_process";
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { serveRequests } from ${JSON.stringify(pathToFileURL(serve).href)};
const attempt = (act) => { try { return String(act()); } catch (error) { return error.code ?? error.name; } };
const acts = {
  pid: () => process.pid,
  about: () => ({ env: process.env, cwd: process.cwd() }),
  read: ({ path }) => attempt(() => readFileSync(path, "utf8").length),
  write: ({ path }) => attempt(() => writeFileSync(path, "x")),
  spawn: () => attempt(() => execSync("id")),
  worker: () => attempt(() => new Worker("1", { eval: true })),
  loop: () => { for (;;); },
  wait: async ({ ms }) => { await new Promise((resolve) => setTimeout(resolve, ms)); return process.pid; },
  heap: () => { const all = []; for (;;) all.push({ all }); },
  buffers: () => { const all = []; for (;;) all.push(Buffer.alloc(10e6, 1)); },
  exit: () => process.exit(3),
  throw: () => { throw new Error("on purpose"); },
  garbage: () => { writeSync(3, Buffer.alloc(4096, 255)); },
  twice: () => { for (let i = 0; i < 2; i += 1) writeSync(3, Buffer.from([0, 0, 0, 2, 0, 0, 0, 0, 123, 125])); },
  badJson: () => { writeSync(3, Buffer.from([0, 0, 0, 2, 0, 0, 0, 0, 123, 123])); },
};
serveRequests({
  wornAtMib: 300,
  async handle({ header, body }) {
    if (header.act === "echo") return { header: { result: header.say ?? null }, body };
    if (header.act === "size") return { header: { result: body.length }, body: Buffer.alloc(0) };
    if (header.act === "big") return { header: {}, body: Buffer.alloc(header.bytes, "x") };
    return { header: { result: await acts[header.act](header) }, body: Buffer.alloc(0) };
  },
});
`;

let folder: string;
let entry: string;
const pools: ChildPool[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-pool-"));
  entry = join(folder, "child.mjs");
  await writeFile(entry, CHILD);
  return () => rm(folder, { recursive: true });
});

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

function createPool(overrides: Partial<ChildPoolOptions> = {}): ChildPool {
  const pool = createChildPool({
    entry,
    nodeFlags: [],
    readable: [folder, ...readableByChild(serve, [])],
    heapMib: 64,
    dataMib: 300,
    size: 2,
    spares: 0,
    keep: 2,
    maxQueue: 100,
    maxCalls: 100,
    timeoutMs: 5000,
    maxOutputBytes: MIB,
    ...overrides,
  });
  pools.push(pool);
  return pool;
}

interface Call {
  readonly key?: string;
  readonly body?: ChildRequest["body"];
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

async function callWhole(
  pool: ChildPool,
  act: string,
  more: { [name: string]: Json } = {},
  call: Call = {},
): Promise<Frame> {
  const { key = "a", body = Buffer.alloc(0), ...rest } = call;
  return await pool.call({ key, request: () => ({ header: { act, ...more }, body }), ...rest });
}

async function call(
  pool: ChildPool,
  act: string,
  more: { [name: string]: Json } = {},
  options: Call = {},
): Promise<Json> {
  return (await callWhole(pool, act, more, options)).header["result"] ?? null;
}

function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

describe("child pool: calls", () => {
  it("carries headers and bodies in both directions, empty and long", async () => {
    const pool = createPool({ maxOutputBytes: 8 * MIB });
    const say = { text: "ünï\u2028\0", "": [1, null] };
    for (const body of [Buffer.alloc(0), Buffer.from("x"), Buffer.alloc(7 * MIB, "abc")]) {
      const reply = await callWhole(pool, "echo", { say }, { body });
      expect(reply.header["result"]).toEqual(say);
      expect(reply.body.equals(body)).toBe(true);
    }
  });

  it("streams a body whose length is known", async () => {
    const pool = createPool();
    const chunks = Array.from({ length: 500 }, () => Buffer.alloc(64 * 1024, 1));
    const body = { stream: Readable.from(chunks), size: 500 * 64 * 1024 };
    expect(await call(pool, "size", {}, { body })).toBe(500 * 64 * 1024);
  });

  it("rethrows a failure of a body's stream, and continues", async () => {
    const pool = createPool();
    const stream = Readable.from(
      (async function* () {
        yield Buffer.alloc(10);
        throw new Error("the disk is gone");
      })(),
    );
    await expect(call(pool, "size", {}, { body: { stream, size: 100 } })).rejects.toThrow("the disk is gone");
    const short = { stream: Readable.from([Buffer.alloc(10)]), size: 100 };
    await expect(call(pool, "size", {}, { body: short })).rejects.toThrow("length");
    expect(await call(pool, "size", {}, { body: Buffer.alloc(3) })).toBe(3);
  });

  it("runs 50 concurrent calls with up to the maximum number of processes", async () => {
    const pool = createPool();
    const pids = await Promise.all(Array.from({ length: 50 }, () => call(pool, "pid")));
    expect(new Set(pids).size).toBeLessThanOrEqual(2);
    expect(pool.stats()).toMatchObject({ busy: [], waiting: 0 });
  });

  it("serves organisations round-robin", async () => {
    const pool = createPool({ size: 1, keep: 0 });
    const ended: string[] = [];
    const calls = ["a", "a", "a", "a", "b"].map(async (key) => {
      await call(pool, "wait", { ms: 150 }, { key });
      ended.push(key);
    });
    await Promise.all(calls);
    expect(ended.length).toBe(5);
    const two = createPool({ size: 2, spares: 1 });
    ended.length = 0;
    const more = ["a", "a", "a", "a", "a", "a", "b"].map(async (key) => {
      await call(two, "wait", { ms: 150 }, { key });
      ended.push(key);
    });
    await Promise.all(more);
    expect(ended.indexOf("b")).toBeLessThan(5);
  });

  it("has no children before its first call, a spare during it, and none after an idle period", async () => {
    const pool = createPool({ spares: 1, keepIdleMs: 200, timeoutMs: 120_000 });
    expect(pool.stats().pids).toEqual([]);
    const leave = new AbortController();
    const first = call(pool, "wait", { ms: 100_000 }, { signal: leave.signal }).catch(() => "left");
    await vi.waitFor(() => expect(pool.stats()).toMatchObject({ pids: { length: 2 }, busy: { length: 1 } }), 30_000);
    leave.abort();
    expect(await first).toBe("left");
    await vi.waitFor(() => expect(pool.stats().pids).toEqual([]), 30_000);
    expect(await call(pool, "pid")).toEqual(expect.any(Number));
    await vi.waitFor(() => expect(pool.stats().pids).toEqual([]), 30_000);
  });

  it("does not count the start of the first child against the time limit of its call", async () => {
    const slow = join(folder, "slow.mjs");
    await writeFile(slow, 'await new Promise((resolve) => setTimeout(resolve, 3000));\nawait import("./child.mjs");\n');
    const pool = createPool({ entry: slow, spares: 1, timeoutMs: 2000 });
    let over = 0;
    const limit = createTimeLimit(2000, () => (over += 1));
    expect(await limit.within(() => call(pool, "pid", {}, { timeoutMs: 2000 }))).toEqual(expect.any(Number));
    limit.stop();
    expect(over).toBe(0);
  });

  it("rejects calls beyond its queue length", async () => {
    const pool = createPool({ size: 1, maxQueue: 2 });
    await call(pool, "pid");
    const running = [1, 2, 3].map(() => call(pool, "wait", { ms: 100 }));
    await expect(call(pool, "pid")).rejects.toMatchObject({ failure: "queue_full" });
    await Promise.all(running);
  });

  it("limits the number of waiting calls per key and their waiting time", async () => {
    const pool = createPool({ size: 1, maxQueuePerKey: 2, maxWaitMs: 100, spares: 1 });
    await pool.warm();
    const running = call(pool, "wait", { ms: 60_000 }).catch((error: unknown) => error);
    const late = [1, 2].map(() => expect(call(pool, "pid")).rejects.toThrow("in time"));
    await expect(call(pool, "pid")).rejects.toThrow("Too many calls are waiting");
    await Promise.all(late);
    await pool.close();
    expect(await running).toMatchObject({ failure: "closed" });
  });
});

describe("child pool: fairness", () => {
  it.each([1, 3])(
    "noisy-neighbour: a new caller is served while %i endless calls of another one are running",
    async (size) => {
      const pool = createPool({ size, timeoutMs: 60_000 });
      const endless = Array.from({ length: size + 3 }, () => call(pool, "loop", {}, { key: "noisy" }));
      const outcomes = Promise.allSettled(endless);
      const working = { waiting: 3, busy: { length: size } };
      await vi.waitFor(() => expect(pool.stats()).toMatchObject(working), 30_000);
      expect(await call(pool, "pid", {}, { key: "quiet" })).toEqual(expect.any(Number));
      expect(pool.stats()).toMatchObject(working);
      await pool.close();
      await outcomes;
    },
  );

  it("noisy-neighbour: a time limit does not run while its work waits for a process", async () => {
    const pool = createPool({ size: 1, spares: 1 });
    await pool.warm();
    let over = 0;
    const limited = (ms: number) => {
      const limit = createTimeLimit(400, () => (over += 1));
      return limit.within(() => call(pool, "wait", { ms })).finally(() => limit.stop());
    };
    // Four calls run in turn, so the last one waits three times as long as its limit.
    await Promise.all([limited(250), limited(250), limited(250), limited(250), limited(250)]);
    expect(over).toBe(0);
    await limited(1500);
    expect(over).toBe(1);
  });
});

describe("child pool: isolation", () => {
  it("gives a child no environment variables, other files, child processes or threads", async () => {
    const pool = createPool();
    const about = (await call(pool, "about")) as { env: object; cwd: string };
    // bash always sets "_", which cannot be prevented.
    expect({ ...about.env, _: "" }).toEqual({ TZ: "UTC", _: "" });
    expect(about.cwd).toBe(tmpdir());
    expect(await call(pool, "read", { path: entry })).toBe(String(CHILD.length));
    for (const path of ["/etc/passwd", "/proc/self/environ", join(process.cwd(), "tsconfig.json")]) {
      expect(await call(pool, "read", { path })).toBe("ERR_ACCESS_DENIED");
    }
    for (const path of [join(folder, "new"), join(about.cwd, "new"), "/tmp/new"]) {
      expect(await call(pool, "write", { path })).toBe("ERR_ACCESS_DENIED");
    }
    expect(await call(pool, "spawn")).toBe("ERR_ACCESS_DENIED");
    expect(await call(pool, "worker")).toBe("ERR_ACCESS_DENIED");
  });

  it("cross-tenant: reuses a process for the same key, never for another", async () => {
    const pool = createPool({ size: 1, spares: 1 });
    const used = new Map<Json, string>();
    const order = ["a", "a", "b", "a", "c", "b", "d", "d", "a"];
    for (const key of order) {
      const pid = await call(pool, "pid", {}, { key });
      expect(used.get(pid) ?? key).toBe(key);
      used.set(pid, key);
    }
    expect(used.size).toBeLessThan(order.length);
  });

  it("uses one shared process for every key", async () => {
    const pool = createPool({ shared: true });
    const pids = new Set<Json>();
    for (const key of ["a", "b", "c"]) pids.add(await call(pool, "pid", {}, { key }));
    expect(pids.size).toBe(1);
  });

  it("replaces a process after its maximum number of calls", async () => {
    const pool = createPool({ maxCalls: 2 });
    const pids = [await call(pool, "pid"), await call(pool, "pid"), await call(pool, "pid")];
    expect(pids[1]).toBe(pids[0]);
    expect(pids[2]).not.toBe(pids[0]);
    await vi.waitFor(() => expect(isRunning(Number(pids[0]))).toBe(false));
  });

  it("keeps only a few idle processes", async () => {
    const pool = createPool({ keep: 1, spares: 1 });
    for (const key of ["a", "b", "c", "d"]) await call(pool, "pid", {}, { key });
    expect(pool.stats().pids.length).toBeLessThanOrEqual(2);
  });
});

describe("child pool: hostile children", () => {
  it("kills a call that takes too long, and continues", async () => {
    const pool = createPool({ timeoutMs: 2000 });
    const pid = await call(pool, "pid");
    const began = Date.now();
    await expect(call(pool, "loop")).rejects.toMatchObject({ failure: "timeout" });
    expect(Date.now() - began).toBeLessThan(15_000);
    expect(isRunning(Number(pid))).toBe(false);
    await expect(call(pool, "wait", { ms: 3000 }, { timeoutMs: 100 })).rejects.toMatchObject({ failure: "timeout" });
    expect(await call(pool, "pid")).not.toBe(pid);
  });

  it("kills a running call when its signal aborts, and drops a waiting one", async () => {
    const pool = createPool({ size: 1 });
    const pid = await call(pool, "pid");
    const stop = new AbortController();
    const running = call(pool, "loop", {}, { signal: stop.signal });
    const waiting = call(pool, "pid", {}, { signal: stop.signal });
    const outcomes = Promise.allSettled([running, waiting]);
    const patient = call(pool, "pid");
    const reason = new Error("the run was cancelled");
    stop.abort(reason);
    const rejected = { status: "rejected", reason };
    expect(await outcomes).toEqual([rejected, rejected]);
    await expect(call(pool, "pid", {}, { signal: stop.signal })).rejects.toBe(reason);
    expect(await patient).not.toBe(pid);
    expect(isRunning(Number(pid))).toBe(false);
  });

  it.each(["heap", "buffers"])("code-escape: survives a child that fills its memory (%s)", async (act) => {
    const pool = createPool();
    await expect(call(pool, act)).rejects.toMatchObject({ failure: "memory" });
    expect(await call(pool, "pid")).toEqual(expect.any(Number));
  });

  it("oversized value: rejects a long result before it is held in memory", async () => {
    const pool = createPool();
    expect((await callWhole(pool, "big", { bytes: MIB })).body.length).toBe(MIB);
    await expect(call(pool, "big", { bytes: MIB + 1 })).rejects.toMatchObject({ failure: "output_too_large" });
    expect(await call(pool, "pid")).toEqual(expect.any(Number));
  });

  it.each([
    ["exit", "crashed"],
    ["throw", "crashed"],
    ["garbage", "output_too_large"],
    ["badJson", "crashed"],
  ])("survives a child that breaks the protocol: %s", async (act, failure) => {
    const pool = createPool();
    await expect(call(pool, act)).rejects.toMatchObject({ failure });
    expect(await call(pool, "pid")).toEqual(expect.any(Number));
  });

  it("ignores everything that a child sends after its result", async () => {
    const pool = createPool({ size: 1 });
    const pid = await call(pool, "pid");
    await call(pool, "twice").catch(() => undefined);
    expect(await call(pool, "pid")).not.toBe(pid);
  });

  it("recovers when a busy child is killed from outside", async () => {
    const pool = createPool({ size: 1 });
    const pid = Number(await call(pool, "pid"));
    const running = call(pool, "wait", { ms: 4000 });
    process.kill(pid, "SIGKILL");
    await expect(running).rejects.toMatchObject({ failure: "crashed" });
    expect(await call(pool, "pid")).not.toBe(pid);
  });

  it("replaces an idle child that was killed from outside", async () => {
    const pool = createPool({ spares: 1 });
    await pool.warm();
    const [pid] = pool.stats().pids;
    if (pid === undefined) return expect.unreachable("no child has started");
    process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(pool.stats().pids).not.toContain(pid));
    expect(await call(pool, "pid")).not.toBe(pid);
  });

  it("has children that survive SIGTERM and SIGINT", async () => {
    const pool = createPool();
    const pid = Number(await call(pool, "pid"));
    const running = call(pool, "wait", { ms: 300 });
    process.kill(pid, "SIGTERM");
    process.kill(pid, "SIGINT");
    expect(await running).toBe(pid);
  });
});

describe("child pool: start and stop", () => {
  it("reports children that cannot start, and stops retrying", async () => {
    const broken = join(folder, "broken.mjs");
    await writeFile(broken, "throw new Error('broken installation');");
    const pool = createPool({ entry: broken, spares: 1 });
    const calls = await Promise.allSettled([call(pool, "pid"), call(pool, "pid", {}, { key: "b" })]);
    for (const result of calls) {
      expect(result).toMatchObject({
        reason: { failure: "start_failed", message: expect.stringContaining("broken installation") },
      });
    }
    await vi.waitFor(() => expect(pool.stats()).toEqual({ pids: [], busy: [], waiting: 0 }));
    await expect(call(pool, "pid")).rejects.toMatchObject({ failure: "start_failed" });
  });

  it("serves a first call without a start when it is warm", async () => {
    const pool = createPool({ spares: 1 });
    await pool.warm();
    const { pids } = pool.stats();
    expect(pids.length).toBe(1);
    expect(await call(pool, "pid")).toBe(pids[0]);
  });

  it("stops everything when it is closed", async () => {
    const pool = createPool({ size: 1, spares: 1 });
    const pid = Number(await call(pool, "pid"));
    const running = call(pool, "loop");
    const waiting = call(pool, "pid");
    const outcomes = Promise.allSettled([running, waiting]);
    await delay(50);
    const { pids } = pool.stats();
    expect(pids).toContain(pid);
    await pool.close();
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { failure: "closed" } });
    await expect(call(pool, "pid")).rejects.toMatchObject({ failure: "closed" });
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it("leaves no children behind when its own process is killed", async () => {
    const parent = join(folder, "parent.mjs");
    const poolUrl = pathToFileURL(
      compiledEntry(new URL("../../src/platform/children/child-pool.ts", import.meta.url)),
    ).href;
    const options = JSON.stringify({
      entry,
      nodeFlags: [],
      readable: [folder, ...readableByChild(serve, [])],
      heapMib: 64,
    });
    await writeFile(
      parent,
      `import { createChildPool } from ${JSON.stringify(poolUrl)};
       const limits = { dataMib: 300, size: 1, spares: 1, keep: 1, maxQueue: 9, maxCalls: 9, timeoutMs: 5000, maxOutputBytes: 99 };
       const pool = createChildPool({ ...${options}, ...limits });
       await pool.call({ key: "a", request: () => ({ header: { act: "pid" }, body: Buffer.alloc(0) }) });
       console.log(JSON.stringify(pool.stats().pids));`,
    );
    const process = spawn(globalThis.process.execPath, [parent], { stdio: ["ignore", "pipe", "inherit"] });
    const [output] = (await once(process.stdout, "data")) as [Buffer];
    const pids = JSON.parse(output.toString()) as number[];
    expect(pids.length).toBeGreaterThan(0);
    process.kill("SIGKILL");
    await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]), 5000);
  });
});
