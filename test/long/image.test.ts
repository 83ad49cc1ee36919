import { spawnSync } from "node:child_process";
import { cp, mkdtemp, readFile, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What a stage of the Dockerfile copies from the checkout, as [source, target] each. */
async function copied(stage: string): Promise<Array<readonly [string, string]>> {
  const file = await readFile(join(root, "Dockerfile"), "utf8");
  const stages = file.split(/^FROM /m);
  const lines = stages.find((each) => new RegExp(`^\\S+${stage}\\n`).test(each))?.split("\n") ?? [];
  return lines.flatMap((line) => {
    if (!line.startsWith("COPY ") || line.includes("--from")) return [];
    const [target = "", ...sources] = line.split(" ").slice(1).toReversed();
    return sources.map((source) => [source, target === "./" ? source : target] as const);
  });
}

it("builds and starts from what the Dockerfile copies, and nothing else", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-image-"));
  const [build, image] = [join(folder, "build"), join(folder, "image")];
  const node = (cwd: string, ...args: string[]) =>
    spawnSync(process.execPath, args, { cwd, encoding: "utf8", env: { PATH: process.env["PATH"] } });
  try {
    const ignored = (await readFile(join(root, ".dockerignore"), "utf8")).split("\n");
    for (const [stage, into] of [
      [" AS build", build],
      ["", image],
    ] as const) {
      const files = await copied(stage);
      expect(files.length).toBeGreaterThan(2);
      for (const [source, target] of files) {
        expect(ignored).toContain(`!${source}`);
        await cp(join(root, source), join(into, target), { recursive: true });
      }
      await symlink(join(root, "node_modules"), join(into, "node_modules"));
    }
    const built = node(build, "scripts/build.mjs");
    expect(built.status, built.stdout + built.stderr).toBe(0);
    expect(await readdir(join(build, "dist"))).toContain("workflow-bundle.js");
    await cp(join(build, "dist"), join(image, "dist"), { recursive: true });

    const help = node(image, "bin/millrace.mjs", "--help");
    expect([help.status, help.stdout]).toEqual([0, expect.stringContaining("Usage: millrace")]);
    // Each main gets as far as its configuration.
    for (const main of ["api", "worker", "migrate"]) {
      const started = node(image, `dist/src/${main}-main.js`);
      expect([started.status, started.stderr]).toEqual([1, expect.stringContaining("DATABASE_URL")]);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
