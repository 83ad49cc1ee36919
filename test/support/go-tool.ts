import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";

const INSTALL_TIMEOUT_MS = 900_000;

/** Builds a program from a Go module, once. Answers where it is, or why it is not there. */
export function installGoTool(
  module: string,
  version: string,
): { readonly program: string } | { readonly skipped: string } {
  const cache = join(homedir(), ".cache/millrace");
  const name = basename(module);
  const program = join(cache, `${name}-${version}`, name);
  if (existsSync(program)) return { program };
  if (spawnSync("go", ["version"]).status !== 0) return { skipped: "there is no Go to build it with" };
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(cache, `${name}-new-`));
  try {
    const { status, stderr } = spawnSync("go", ["install", "-ldflags=-s -w", `${module}@${version}`], {
      cwd: fresh,
      encoding: "utf8",
      timeout: INSTALL_TIMEOUT_MS,
      env: { ...process.env, GOBIN: join(fresh, "bin"), CGO_ENABLED: "0" },
    });
    if (status !== 0) return { skipped: `it cannot be built: ${stderr.trim().split("\n").at(-1) ?? ""}` };
    const home = join(cache, `${name}-${version}`);
    if (!existsSync(home)) renameSync(join(fresh, "bin"), home);
    return { program };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
