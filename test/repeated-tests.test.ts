import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { scratchDirectory } from "./support/scratch.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const script = join(root, "scripts/test.mjs");
const passing = 'it("is well", () => {}); it.skip("is left out", () => {});';
const failing = 'it("is ill", () => { throw new Error("no"); });';
/** A test file that fails the first time it runs in its folder. */
const flaky = `
  const { existsSync, writeFileSync } = require("node:fs");
  it("is well too", () => {});
  it("is well the second time", () => {
    const known = existsSync("known");
    writeFileSync("known", "");
    if (!known) throw new Error("not yet");
  });`;

/** Runs these tests as `npm test` does. */
function run(files: Record<string, string>, args: string[] = []) {
  const dir = scratchDirectory();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, `${name}.test.cjs`), text);
  const reporters = ["default", join(root, "test/support/closing-line.ts")];
  const config = { root: dir, test: { include: ["*.test.cjs"], globals: true, reporters } };
  const path = join(dir, "vitest.config.mjs");
  writeFileSync(path, `process.chdir(${JSON.stringify(dir)}); export default ${JSON.stringify(config)};`);
  const env = { ...process.env, NO_COLOR: "1" };
  const { status, stdout } = spawnSync(process.execPath, [script, path, ...args], { env, encoding: "utf8" });
  return { status, output: stdout, last: stdout.trim().split("\n").at(-1) };
}

it("reruns failed files, names tests that then pass, and counts every test once", () => {
  const { status, output, last } = run({ passing, flaky });
  expect([status, last]).toEqual([0, "3 passed, 0 failed, 1 skipped"]);
  expect(output).toContain("failed once, then passed: flaky.test.cjs > is well the second time\n");
  expect(output).toContain("Running the file that failed once more, alone:\n  flaky.test.cjs\n");
});

it("fails if a test fails twice", () => {
  const { status, output, last } = run({ passing, flaky, failing, unreadable: "throw new Error('no')" });
  expect([status, last]).toEqual([1, "3 passed, 2 failed, 1 skipped"]);
  expect(output).not.toContain("then passed: failing");
});

it("reruns nothing if only some tests were selected or many files failed", () => {
  const some = run({ flaky }, ["flaky"]);
  expect([some.status, some.last]).toEqual([1, "1 passed, 1 failed"]);
  const many = run(Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`failing-${at}`, failing])));
  expect([many.status, many.last]).toEqual([1, "0 passed, 9 failed"]);
});
