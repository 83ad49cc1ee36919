import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { scratchDirectory } from "../support/scratch.ts";

const scripts = new URL("../../scripts/", import.meta.url);
/** Replaces npm: records that it was called, and takes some time. */
const NPM = `
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
appendFileSync("calls", "x");
rmSync("node_modules", { recursive: true, force: true });
mkdirSync("node_modules");
setTimeout(() => writeFileSync("node_modules/.package-lock.json", JSON.stringify({ packages: {} })), 1500);
`;

it("two commands at the same time in a fresh clone install once, and the second waits", async () => {
  const clone = scratchDirectory();
  mkdirSync(join(clone, "scripts"));
  for (const name of ["prepare.mjs", "lock.mjs"]) copyFileSync(new URL(name, scripts), join(clone, "scripts", name));
  // The copy has nothing to build.
  writeFileSync(
    join(clone, "scripts/build.mjs"),
    "export const buildNeeded = () => undefined;\nexport const build = () => undefined;",
  );
  writeFileSync(join(clone, "package-lock.json"), JSON.stringify({ packages: { "": {} } }));
  writeFileSync(join(clone, "npm-cli.js"), NPM);
  writeFileSync(join(clone, "package.json"), JSON.stringify({ type: "module" }));
  const prepare = (): Promise<number | null> =>
    new Promise((resolve) => {
      const env = { PATH: process.env["PATH"], npm_execpath: join(clone, "npm-cli.js") };
      spawn(process.execPath, ["scripts/prepare.mjs"], { cwd: clone, env }).once("exit", resolve);
    });
  expect(await Promise.all([prepare(), prepare(), prepare()])).toEqual([0, 0, 0]);
  expect(readFileSync(join(clone, "calls"), "utf8")).toBe("x");
});

it("a fresh clone prints its version, help and missing parts without installing anything", () => {
  const clone = scratchDirectory();
  for (const part of ["bin", "scripts", "package.json", "package-lock.json"])
    cpSync(new URL(`../${part}`, scripts), join(clone, part), { recursive: true });
  const there = readdirSync(clone, { recursive: true, encoding: "utf8" });
  const millrace = (...args: string[]) => {
    // Installing would fail, because npm is not on PATH.
    const { status, stdout, stderr } = spawnSync(process.execPath, ["bin/millrace.mjs", ...args], {
      cwd: clone,
      env: { PATH: "/nowhere" },
      encoding: "utf8",
    });
    return { status, stdout, stderr };
  };
  const { version } = JSON.parse(readFileSync(join(clone, "package.json"), "utf8")) as { version: string };
  for (const option of ["--version", "-V"])
    expect(millrace(option)).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
  for (const asked of [["--help"], ["help"], ["runs", "list", "-h"], ["doctor", "--help"]]) {
    const usage = /^Usage: millrace [\s\S]*not installed here yet[\s\S]*node scripts\/prepare\.mjs/;
    expect(millrace(...asked)).toEqual({ status: 0, stdout: expect.stringMatching(usage), stderr: "" });
  }
  const missing = { part: "Packages", state: "problem", text: "node_modules is missing" };
  const { status, stdout, stderr } = millrace("doctor", "--json");
  expect([status, stderr, JSON.parse(stdout)]).toEqual([
    1,
    "",
    {
      version,
      healthy: false,
      findings: [missing, { part: "Build", state: "problem", text: "dist/ is missing" }].map((finding) => ({
        ...finding,
        advice: "Run `node scripts/prepare.mjs`, which installs and builds.",
      })),
    },
  ]);
  expect(millrace("doctor").stdout).toMatch(
    /^PROBLEM {2}Packages {2}node_modules is missing\n.*node scripts\/prepare/m,
  );
  // Every other command installs first.
  expect(millrace("runs", "list")).toMatchObject({ status: 1, stderr: expect.stringContaining("Installing packages") });
  expect(readdirSync(clone, { recursive: true, encoding: "utf8" })).toEqual(expect.arrayContaining(there));
  expect(readdirSync(clone)).not.toContain("node_modules");
});
