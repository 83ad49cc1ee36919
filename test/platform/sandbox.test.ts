import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { isAlive } from "../../src/dev/processes.ts";
import { MAX_VALUE_BYTES, type Json } from "../../src/domain/json.ts";
import { compiledEntry } from "../../src/platform/children/entry.ts";
import { createSandbox, type Sandbox, type SandboxCall } from "../../src/platform/sandbox/sandbox.ts";

const LIMIT_MS = 1000;
const MIB = 1024 * 1024;

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = createSandbox({ size: 2, timeoutMs: 10_000 });
  await sandbox.warm();
  return () => sandbox.close();
});

async function run(source: string, args: SandboxCall["args"] = {}, more: Partial<SandboxCall> = {}): Promise<Json> {
  return (await sandbox.run({ orgId: "a", source, args, ...more })).value;
}

async function failure(source: string, args: SandboxCall["args"] = {}, timeoutMs = LIMIT_MS) {
  const error: unknown = await run(source, args, { timeoutMs }).then(
    (value) => expect.unreachable(`returned ${JSON.stringify(value).slice(0, 200)}`),
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: "NodeFailure", retryable: false });
  return error as { code: string; message: string };
}

/** Code whose function main has this body. */
const main = (body: string): string => `function main(args) { ${body} }`;

describe("code sandbox: what scripts can do", () => {
  it.each<[string, string, Json]>([
    ["a function", "function main(args) { return args.n * 2; }", 42],
    ["an arrow function", "const main = ({ n }) => n + 1;", 22],
    ["an async function", "async function main({ n }) { return [await n, await Promise.resolve('x')]; }", [21, "x"]],
    ["helpers and classes", "class A { m = (x) => x ** 2 }; const main = ({ n }) => new A().m(n);", 441],
    ["a thenable", "const main = () => ({ then: (resolve) => resolve('then') });", "then"],
    [
      "the standard library",
      main("return [...new Map([[1, new Set([2])]]).keys()].concat('aXb'.replace(/x/i, '-'))"),
      [1, "a-b"],
    ],
    [
      "dates, in UTC",
      main("return [new Date(0), new Date(2020, 0, 1).toISOString()]"),
      ["1970-01-01T00:00:00.000Z", "2020-01-01T00:00:00.000Z"],
    ],
    ["generators", main("function* g() { yield 1; yield 2 } return [...g()]"), [1, 2]],
  ])("runs %s", async (_, source, expected) => {
    expect(await run(source, { n: 21 })).toEqual(expected);
  });

  it("passes arguments and results as JSON, with any content", async () => {
    const args = {
      text: "ünï ☃ 😀 \u0000 \u2028 \ud800",
      list: [1.5, -0, 1e300, null, true],
      deep: { a: { b: {} } },
      "": "",
    };
    expect(await run("const main = (args) => args;", args)).toEqual(JSON.parse(JSON.stringify(args)));
  });

  it.each<[string, Json]>([
    ["return;", null],
    ["return null;", null],
    ["return [undefined, () => 1, NaN, Infinity];", [null, null, null, null]],
    ["return { a: undefined, b: 1 };", { b: 1 }],
    ["return { toJSON: () => 'mine' };", "mine"],
    ["return 'x\\ud800';", "x\ud800"],
  ])("converts the result of main to JSON: %s", async (body, expected) => {
    expect(await run(main(body))).toEqual(expected);
  });

  it("returns console output, shortened", async () => {
    const { logs } = await sandbox.run({
      orgId: "a",
      source: main(
        "console.log('a', 1, { b: [2] }, null, undefined); console.error(new Error('boo')); console.warn(Symbol('s'));",
      ),
      args: {},
    });
    expect(logs).toEqual(['a 1 {"b":[2]} null undefined', "Error: boo", "Symbol(s)"]);
    const many = await sandbox.run({
      orgId: "a",
      source: main("const line = 'x'.repeat(1e5); for (let i = 0; i < 1e5; i += 1) console.log(line); return 'done'"),
      args: {},
    });
    expect(many.value).toBe("done");
    expect(many.logs.join("").length).toBeLessThan(70_000);
    expect(many.logs.at(-1)).toContain("dropped");
  });

  it("carries values of many megabytes in and out", async () => {
    const text = "y".repeat(20 * MIB);
    expect(await run(main("return args.text.length"), { text })).toBe(text.length);
    expect(await run(main("return args.text"), { text })).toBe(text);
    const rows = Array.from({ length: 200_000 }, (_, id) => ({ id, name: `row ${id}` }));
    expect(await run(main("return args.rows.map((row) => row.id).length"), { rows })).toBe(rows.length);
  });

  it("runs 50 scripts at the same time", async () => {
    const values = await Promise.all(
      Array.from({ length: 50 }, (_, index) => run("const main = ({ index }) => index * 2;", { index })),
    );
    expect(values).toEqual(Array.from({ length: 50 }, (_, index) => index * 2));
  });
});

describe("code sandbox: errors in a script", () => {
  it.each([
    ["\n\nfunction main() {\n  throw new TypeError('boo');\n}", "TypeError: boo (line 4)"],
    ["const a = 1;\nfunction main( {", /^SyntaxError: .* \(line 2\)$/],
    ["function main() { return missing.x }", "ReferenceError: 'missing' is not defined (line 1)"],
    ["async function main() {\n  await null;\n  throw new Error('late');\n}", "Error: late (line 3)"],
    ["function main() { throw 'a string' }", "a string"],
    ["function main() { throw null }", "null"],
    ["function main() { throw { code: 7 } }", '{"code":7}'],
    ["export function main() {}", /export/],
    ["const x = 1;", "The code must define a function main(args)."],
    ["const main = 1;", "The code must define a function main(args)."],
    ["const main = () => new Promise(() => {});", /never settles/],
    ["const main = () => setTimeout(() => 1);", /setTimeout/],
  ])("reports the error and its line: %j", async (source, message) => {
    expect(await failure(source)).toEqual(
      expect.objectContaining({
        code: "code_failed",
        message: typeof message === "string" ? message : expect.stringMatching(message),
      }),
    );
  });

  it.each([
    "return () => 1",
    "return Symbol('x')",
    "const o = {}; o.o = o; return o",
    "return { toJSON() { throw new Error('no') } }",
  ])("reports a result that is not JSON: %s", async (body) => {
    expect((await failure(main(body))).code).toBe("code_output_invalid");
  });

  it("oversized value: rejects a result longer than the limit, and accepts one at the limit", async () => {
    expect((await failure(main(`return 'x'.repeat(${MAX_VALUE_BYTES - 1})`), {}, 5000)).code).toBe("value_too_large");
    expect((await failure(main(`return 'é'.repeat(${MAX_VALUE_BYTES / 2})`), {}, 5000)).code).toBe("value_too_large");
    expect(await run(main(`return 'x'.repeat(${MAX_VALUE_BYTES - 2})`))).toHaveLength(MAX_VALUE_BYTES - 2);
  });
});

describe("code-escape: time and memory", () => {
  it.each([
    ["a loop", main("for (;;);")],
    ["a loop outside main", "for (;;);"],
    ["a loop that catches", main("for (;;) try { for (;;); } catch {}")],
    ["promises without end", "async function main() { for (;;) await 1; }"],
    [
      "promises that breed",
      "const f = () => Promise.resolve().then(f); const main = async () => { f(); await new Promise(() => {}); };",
    ],
    [
      "a loop behind await, caught",
      "async function main() { try { await 1; for (;;); } catch {} finally { for (;;); } }",
    ],
    ["a backtracking expression", main("return /^(a+)+$/.test('a'.repeat(50) + 'b')")],
    ["a loop in a getter of the result", main("return { get x() { for (;;); } }")],
    ["a loop in toJSON", main("return { toJSON() { for (;;); } }")],
    ["a loop in a proxy", main("return new Proxy({}, { ownKeys() { for (;;); } })")],
    ["a loop in what is thrown", main("throw { get message() { for (;;); } }")],
    ["a loop in what is logged", main("console.log({ toJSON() { for (;;); } })")],
    ["a loop in a comparison", main("return [3, 1, 2].sort(() => { for (;;); })")],
    [
      "a loop in a finalizer of iteration",
      main("const it = { [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) }; return [...it].length"),
    ],
  ])("stops %s", async (_, source) => {
    expect(["code_timeout", "code_memory"]).toContain((await failure(source, {}, 200)).code);
  });

  it.each([
    ["objects", "const a = []; for (;;) a.push({ a });"],
    ["buffers", "const a = []; for (;;) a.push(new ArrayBuffer(1e6));"],
    ["one buffer", "return new ArrayBuffer(2e9)"],
    ["a string", "return 'x'.repeat(5e8).length"],
    ["padding", "return 'x'.padEnd(1e9).length"],
    ["an array", "return new Array(1e9).fill(1).length"],
    ["typed arrays", "return new Float64Array(2e7).length"],
    ["joined", "return Array(1e7).join('abcdefghij').length"],
    ["small buffers", "const a = []; for (;;) a.push(new ArrayBuffer(1000));"],
    ["texts", "const a = []; for (let i = 0; ; i += 1) a.push('x'.repeat(1000) + i);"],
  ])("limits memory: %s", async (_, body) => {
    const { code, message } = await failure(main(body), {}, 9000);
    expect([code, message]).toEqual(["code_memory", "The code needs more than 64 MiB of memory."]);
  });

  it.runIf(process.platform === "linux")(
    "its process grows only a little beyond the script's memory limit",
    async () => {
      const own = createSandbox({ size: 1 });
      await own.warm();
      const { pids } = own.stats();
      const source = main("const a = []; for (;;) a.push(new ArrayBuffer(1e6));");
      await expect(own.run({ orgId: "a", source, args: {} })).rejects.toMatchObject({ code: "code_memory" });
      const peaks = pids.map((pid) => /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]);
      await own.close();
      expect(Math.max(...peaks.map(Number)) * 1024).toBeLessThan(350 * MIB);
    },
  );

  it.each([
    ["big strings", "let s = 'x'; for (;;) s += s;"],
    ["big integers", "let n = 2n ** 100000n; for (;;) n *= n;"],
    ["many arguments", "Math.max(...new Array(1e6).fill(1))"],
  ])("rejects code that exceeds a limit of its engine: %s", async (_, body) => {
    expect(["code_failed", "code_memory"]).toContain((await failure(main(body), {}, 5000)).code);
  });

  it.each([
    ["recursion", "const f = () => f() + 1; return f();"],
    ["recursion through the library", "const f = () => [1].map(f); return f();"],
    ["nested source", "return eval('('.repeat(1e6))"],
    ["nested JSON text", "return JSON.parse('['.repeat(1e6))"],
    ["a nested result", "let o = {}; for (let i = 0; i < 1e5; i += 1) o = { o }; return o"],
    ["a nested array", "let o = []; for (let i = 0; i < 1e5; i += 1) o = [o]; return o"],
    ["a nested expression", "return new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5)).test('x')"],
    ["a chain of proxies", "let p = {}; for (let i = 0; i < 1e5; i += 1) p = new Proxy(p, {}); return p.x"],
  ])("survives %s", async (_, body) => {
    const { code, message } = await failure(main(body), {}, 5000);
    expect(["code_failed", "code_output_invalid", "code_memory"]).toContain(code);
    expect(message).toMatch(/stack|large|big|memory|recurs|captures/i);
    expect(await run(main("return 'fine'"))).toBe("fine");
  });

  it("survives deeply nested arguments", async () => {
    let deep: Json = 1;
    for (let index = 0; index < 20_000; index += 1) deep = [deep];
    await expect(run(main("return 1"), { deep })).rejects.toMatchObject({ code: "value_too_deep" });
    // Shallow enough for JSON.stringify and for QuickJS.
    deep = 1;
    for (let index = 0; index < 3000; index += 1) deep = { deep };
    expect(await run(main("return Object.keys(args)"), { deep })).toEqual(["deep"]);
  });

  it("accepts results nested up to 500 levels deep", async () => {
    const nest = (levels: number): string =>
      main(`let o = '[[{{'; for (let i = 0; i < ${levels}; i += 1) o = i % 2 ? [o] : { o }; return o`);
    expect(JSON.stringify(await run(nest(500)))).toContain("[[{{");
    expect(await failure(nest(501))).toMatchObject({
      code: "code_output_invalid",
      message: expect.stringContaining("500"),
    });
  });
});

describe("code-escape: nothing of the host can be reached", () => {
  it("defines no names of the host", async () => {
    const names = [
      "process",
      "require",
      "module",
      "exports",
      "global",
      "Buffer",
      "fetch",
      "XMLHttpRequest",
      "WebSocket",
      "WebAssembly",
      "setTimeout",
      "setInterval",
      "setImmediate",
      "queueMicrotask",
      "Worker",
      "importScripts",
      "std",
      "os",
      "scriptArgs",
      "print",
      "load",
      "Deno",
      "Bun",
      "navigator",
      "window",
      "document",
      "emit",
    ];
    expect(await run(main(`return ${JSON.stringify(names)}.filter((name) => name in globalThis)`))).toEqual([]);
  });

  it.each([
    ["Function", "return Function('return typeof process + typeof require')()"],
    ["a constructor's constructor", "return main.constructor('return typeof process + typeof require')()"],
    ["the console's", "return console.log.constructor.constructor('return typeof process + typeof require')()"],
    [
      "an error's",
      "try { null.x } catch (e) { return e.constructor.constructor('return typeof process + typeof require')() }",
    ],
    ["an arguments object's", "return args.constructor.constructor('return typeof process + typeof require')()"],
    ["an async function's", "return (async () => {}).constructor('return typeof process + typeof require')()"],
    ["a generator's", "return (function* () {}).constructor('return typeof process + typeof require')().next().value"],
    ["eval", "return (0, eval)('typeof process + typeof require')"],
    ["this", "return (function () { return typeof this.process + typeof this.require })()"],
    [
      "a stack trace hook",
      "Error.prepareStackTrace = (e, frames) => frames.map((f) => typeof f.getThis); try { null.x } catch (e) { return 'undefinedundefined' }",
    ],
  ])("does not reach the host: %s", async (_, body) => {
    expect(await run(main(body))).toBe("undefinedundefined");
  });

  it.each([
    "fs",
    "node:fs",
    "child_process",
    "./code.js",
    "file:///etc/passwd",
    "https://example.com/x.js",
    "std",
    "os",
    "data:text/javascript,export default 1",
  ])("cannot import %s", async (name) => {
    const { code, message } = await failure(`async function main() { return await import(${JSON.stringify(name)}); }`);
    expect(code).toBe("code_failed");
    expect(message).toMatch(/could not load module|import/i);
  });

  it("keeps no state between scripts", async () => {
    const leave =
      "globalThis.left = 1; Object.prototype.left = 1; Array.prototype.map = 1; JSON.parse = JSON.stringify = () => 'x'; Promise.prototype.then = 1; console.log = 1;";
    for (let index = 0; index < 4; index += 1) {
      await run(main(`${leave} return 'left'`));
      expect(
        await run(main("return [typeof left, {}.left ?? null, typeof [].map, JSON.stringify(1), typeof console.log]")),
      ).toEqual(["undefined", null, "function", "1", "function"]);
    }
  });

  it("returns the true result even if a script replaces library functions", async () => {
    const body =
      "JSON.stringify = () => '{'; String.prototype.slice = () => ({}); Object.prototype.toJSON = undefined; return { a: 1 };";
    expect(await run(main(body))).toEqual({ a: 1 });
    expect(
      (await failure(main("Error.prototype.name = { toString() { for (;;); } }; throw new Error('x')"))).code,
    ).toBe("code_failed");
  });
});

describe("proto-pollution", () => {
  const hostile = JSON.parse(
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":[{"__proto__":[]}]}',
  ) as SandboxCall["args"];

  it("keeps __proto__ in arguments and results a plain field", async () => {
    const value = await run(
      main(
        "return { args, own: Object.hasOwn(args, '__proto__'), polluted: args.polluted === undefined && {}.polluted === undefined }",
      ),
      hostile,
    );
    expect(JSON.stringify(value)).toBe(JSON.stringify({ args: hostile, own: true, polluted: true }));
    expect({}).not.toHaveProperty("polluted");
    expect(await run(main('return JSON.parse(\'{"__proto__":{"polluted":1}}\')'))).not.toHaveProperty("polluted");
  });

  it("is harmless outside if a script pollutes its own prototypes", async () => {
    await run(main("Object.prototype.polluted = 1; args.__proto__.polluted = 2; return {}"), hostile);
    expect({}).not.toHaveProperty("polluted");
  });
});

describe("code sandbox: processes", () => {
  let own: Sandbox;
  beforeAll(() => {
    own = createSandbox({ size: 1 });
  });
  afterAll(() => own.close());

  it("stops a script whose signal aborts", async () => {
    const stop = new AbortController();
    const reason = new Error("node_timeout");
    const running = own.run({ orgId: "a", source: main("for (;;);"), args: {}, signal: stop.signal });
    setTimeout(() => stop.abort(reason), 100);
    await expect(running).rejects.toBe(reason);
  });

  it("retries a script once if its process was killed from outside", async () => {
    const kill = (): void => {
      for (const pid of own.stats().busy) process.kill(pid, "SIGKILL");
    };
    await own.warm();
    const busy = main("const end = Date.now() + 500; while (Date.now() < end); return 'ran'");
    const running = own.run({ orgId: "a", source: busy, args: {} });
    await vi.waitFor(() => expect(own.stats().busy.length).toBe(1));
    await new Promise((resolve) => setTimeout(resolve, 100));
    kill();
    expect((await running).value).toBe("ran");

    const killing = setInterval(kill, 50);
    const again = own.run({ orgId: "a", source: main("for (;;);"), args: {} }).finally(() => clearInterval(killing));
    await expect(again).rejects.toMatchObject({ code: "code_failed", retryable: true });
    expect((await own.run({ orgId: "a", source: main("return 1"), args: {} })).value).toBe(1);
  });

  it("cross-tenant: shares no process between organisations", async () => {
    const pids = new Set<number>();
    for (const orgId of ["a", "b", "a", "b"]) {
      expect((await own.run({ orgId, source: main("return 1"), args: {} })).value).toBe(1);
      for (const pid of own.stats().pids) pids.add(pid);
    }
    expect(pids.size).toBeGreaterThanOrEqual(2);
  });
});

describe("code sandbox: when its own process is killed", () => {
  it("leaves no script running, however much time it had left", async () => {
    const url = pathToFileURL(compiledEntry(new URL("../../src/platform/sandbox/sandbox.ts", import.meta.url))).href;
    const program = `
      import { createSandbox } from ${JSON.stringify(url)};
      const sandbox = createSandbox({ size: 1, timeoutMs: 900_000 });
      await sandbox.warm();
      sandbox.run({ orgId: "a", source: "function main() { for (;;); }", args: {} });
      setInterval(() => { if (sandbox.stats().busy.length > 0) console.log(sandbox.stats().pids.join(" ")); }, 200);`;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [output] = (await once(owner.stdout, "data")) as [Buffer];
    const pids = output.toString().trim().split(/\s/).map(Number);
    expect(pids.filter(isAlive)).toEqual(pids);
    owner.kill("SIGKILL");
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), 60_000);
  });
});
