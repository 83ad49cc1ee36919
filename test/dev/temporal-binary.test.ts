import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findTemporal } from "../../src/dev/temporal-binary.ts";
import { scratchDirectory } from "../support/scratch.ts";

function program(folder: string, name: string, script: string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** A simulated machine: programs on PATH, and the cache. */
function machine() {
  const dir = scratchDirectory();
  const said: string[] = [];
  const [bin, cacheDir] = [join(dir, "path"), join(dir, "cache")];
  // The fake programs need these real tools.
  const searchPath = `${bin}:/usr/bin:/bin`;
  const noDownload = async (): Promise<string> => "no route to the download";
  return {
    bin,
    cacheDir,
    said,
    find: () => findTemporal({ say: (line) => said.push(line), searchPath, cacheDir, download: noDownload }),
  };
}

describe("finding the Temporal server", () => {
  it("prefers the one on PATH", async () => {
    const { bin, cacheDir, find } = machine();
    const onPath = program(bin, "temporal", "exit 0");
    program(join(cacheDir, "bin"), "temporal", "exit 0");
    expect(await find()).toBe(onPath);
  });

  it("skips another program of the same name on PATH", async () => {
    const { bin, cacheDir, find } = machine();
    program(bin, "temporal", "echo 'unknown command' >&2; exit 1");
    const cached = program(join(cacheDir, "bin"), "temporal", "exit 0");
    expect(await find()).toBe(cached);
  });

  it("builds the server into the cache if it cannot be downloaded, once for all concurrent callers", async () => {
    const { bin, cacheDir, said, find } = machine();
    const log = join(cacheDir, "builds");
    program(
      bin,
      "go",
      `echo "$@" >> ${log}; sleep 0.3; printf '#!/bin/sh\\n' > "$GOBIN/temporal"; chmod +x "$GOBIN/temporal"`,
    );
    const found = await Promise.all([find(), find()]);
    expect(found).toEqual([join(cacheDir, "bin/temporal"), join(cacheDir, "bin/temporal")]);
    expect(readFileSync(log, "utf8").trim().split("\n")).toHaveLength(1);
    expect(said.join("\n")).toContain("3 to 4 minutes");
  });

  it("acquires the lock of a build that was killed", async () => {
    const { bin, cacheDir, find } = machine();
    program(bin, "go", `printf '#!/bin/sh\\n' > "$GOBIN/temporal"; chmod +x "$GOBIN/temporal"`);
    mkdirSync(join(cacheDir, "bin"), { recursive: true });
    writeFileSync(join(cacheDir, "bin/.install.lock"), "999999999");
    expect(await find()).toBe(join(cacheDir, "bin/temporal"));
  });

  it("names every source and its error if none works", async () => {
    const { bin, cacheDir, find } = machine();
    program(bin, "go", "echo 'go: no space left' >&2; exit 1");
    const error = await find().then(String, (failure: Error) => failure.message);
    for (const part of [
      "TEMPORAL_ADDRESS: not set",
      "temporal on PATH: not found",
      `${cacheDir}/bin/temporal: not found`,
    ]) {
      expect(error).toContain(part);
    }
    expect(error).toContain("download with @temporalio/testing: no route to the download");
    expect(error).toContain("go: no space left");
  });
});
