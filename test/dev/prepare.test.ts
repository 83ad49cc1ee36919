import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { scratchDirectory } from "../support/scratch.ts";

const scripts = new URL("../../scripts/", import.meta.url);
/** Stands for npm: it notes that it was called, and takes its time. */
const NPM = `
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
appendFileSync("calls", "x");
rmSync("node_modules", { recursive: true, force: true });
mkdirSync("node_modules");
setTimeout(() => writeFileSync("node_modules/.package-lock.json", JSON.stringify({ packages: {} })), 1500);
`;

it("two commands at once in a fresh clone install once, and the second waits", async () => {
  const clone = scratchDirectory();
  mkdirSync(join(clone, "scripts"));
  for (const name of ["prepare.mjs", "lock.mjs"]) copyFileSync(new URL(name, scripts), join(clone, "scripts", name));
  // There is nothing to build.
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
