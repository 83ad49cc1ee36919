// Runs all tests of one vitest configuration. Some 4 000 of them use real servers, in CI on machines whose load nobody knows.
// So it runs files that fail a second time, one after the other, on servers of their own, and names those that then pass.
// Usage: node scripts/test.mjs CONFIG [VITEST ARGUMENT...]. With arguments it runs a part of the tests, and repeats none.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** If more files fail, the code is at fault, and not the machine. */
const MOST_REPEATED_FILES = 8;
const root = fileURLToPath(new URL("..", import.meta.url));
const vitest = join(root, "node_modules/vitest/vitest.mjs");
const [config, ...wanted] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "millrace-tests-"));

/** Resolves to vitest's exit code and the counts of test/support/closing-line.ts; these are undefined if vitest did not end. */
async function run(args) {
  const summary = join(scratch, "summary.json");
  rmSync(summary, { force: true });
  const child = spawn(process.execPath, [vitest, "run", "--config", config, ...args], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, MILLRACE_TEST_SUMMARY: summary },
  });
  const pass = (signal) => child.kill(signal);
  // A terminal sends Ctrl-C to vitest as well, which stops its servers and then ends.
  const wait = () => undefined;
  process.on("SIGTERM", pass).on("SIGINT", wait);
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (status) => resolve(status ?? 1));
  });
  process.off("SIGTERM", pass).off("SIGINT", wait);
  try {
    return { code, counts: JSON.parse(readFileSync(summary, "utf8")) };
  } catch {
    return { code };
  }
}

async function main() {
  const first = await run(wanted);
  const files = first.counts?.failedFiles ?? [];
  const repeatable = files.length > 0 && files.length <= MOST_REPEATED_FILES && first.counts.errors === 0;
  if (wanted.length > 0 || first.code !== 1 || !repeatable) return first.code;

  process.stdout.write(`\nRunning ${files.length === 1 ? "the file" : "the files"} that failed once more, alone:\n`);
  for (const { file } of files) process.stdout.write(`  ${file}\n`);
  const second = await run([...files.map(({ file }) => file), "--no-file-parallelism"]);
  if (!second.counts) return second.code || 1;
  const failedAgain = new Set(second.counts.failedFiles.map(({ file }) => file));
  for (const { file, tests } of files.filter((each) => !failedAgain.has(each.file)))
    for (const test of tests) process.stdout.write(`failed once, then passed: ${file} > ${test}\n`);
  const [passed, failed, skipped] = ["passed", "failed", "skipped"].map(
    (state) => first.counts.inOtherFiles[state] + second.counts.inAll[state],
  );
  process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`);
  return second.code;
}

try {
  process.exitCode = await main();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
