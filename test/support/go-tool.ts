import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";

const INSTALL_TIMEOUT_MS = 900_000;

type Installed = { readonly program: string } | { readonly skipped: string };

/** Builds a program from a Go module, once. Returns its path, or the reason why it is missing. */
export function installGoTool(module: string, version: string): Installed {
  return buildOnce(basename(module), version, [["install", "-ldflags=-s -w", `${module}@${version}`]]);
}

/** Builds a program from a folder with its sources and a go.mod, once per `version`. */
export function buildGoProgram(name: string, version: string, sources: string): Installed {
  const commands = [
    ["mod", "tidy"],
    ["build", "-ldflags=-s -w", "-o", join("bin", name), "."],
  ];
  return buildOnce(name, version, commands, sources);
}

function buildOnce(
  name: string,
  version: string,
  commands: ReadonlyArray<readonly string[]>,
  sources?: string,
): Installed {
  const cache = join(homedir(), ".cache/millrace");
  const home = join(cache, `${name}-${version}`);
  const program = join(home, name);
  if (existsSync(program)) return { program };
  if (spawnSync("go", ["version"]).status !== 0) return { skipped: "there is no Go to build it with" };
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(cache, `${name}-new-`));
  try {
    if (sources !== undefined) cpSync(sources, fresh, { recursive: true });
    for (const command of commands) {
      const { status, stderr } = spawnSync("go", command, {
        cwd: fresh,
        encoding: "utf8",
        timeout: INSTALL_TIMEOUT_MS,
        env: { ...process.env, GOBIN: join(fresh, "bin"), CGO_ENABLED: "0" },
      });
      if (status !== 0) return { skipped: `it cannot be built: ${stderr.trim().split("\n").at(-1) ?? ""}` };
    }
    if (!existsSync(home)) renameSync(join(fresh, "bin"), home);
    return { program };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
