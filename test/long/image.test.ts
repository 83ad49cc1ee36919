import { spawnSync } from "node:child_process";
import { cp, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CHECKOUT, copiesOf, stageOf } from "../support/dockerfile.ts";

it("builds and starts with only the files that the Dockerfile copies", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-image-"));
  const [build, image] = [join(folder, "build"), join(folder, "image")];
  const node = (cwd: string, ...args: string[]) =>
    spawnSync(process.execPath, args, { cwd, encoding: "utf8", env: { PATH: process.env["PATH"] } });
  try {
    for (const [stage, into] of [
      ["build", build],
      [undefined, image],
    ] as const) {
      const files = copiesOf(stageOf(stage)).filter(({ from }) => from === undefined);
      expect(files.length).toBeGreaterThan(2);
      for (const { source, target } of files) await cp(join(CHECKOUT, source), join(into, target), { recursive: true });
      await symlink(join(CHECKOUT, "node_modules"), join(into, "node_modules"));
    }
    const built = node(build, "scripts/build.mjs");
    expect(built.status, built.stdout + built.stderr).toBe(0);
    expect(await readdir(join(build, "dist"))).toContain("workflow-bundle.js");
    await cp(join(build, "dist"), join(image, "dist"), { recursive: true });

    const help = node(image, "bin/millrace.mjs", "--help");
    expect([help.status, help.stdout]).toEqual([0, expect.stringContaining("Usage: millrace")]);
    // Each main file starts as far as reading its configuration.
    for (const main of ["api", "worker", "migrate"]) {
      const started = node(image, `dist/src/${main}-main.js`);
      expect([started.status, started.stderr]).toEqual([1, expect.stringContaining("DATABASE_URL")]);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
