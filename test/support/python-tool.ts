import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const INSTALL_TIMEOUT_MS = 180_000;
const PYTHON_IS_NEW_ENOUGH = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/**
 * Installs a Python package and `others` into its own virtual environment, once. Returns the path of its Python, or the
 * reason why it is missing: no Python, or an unavailable package registry.
 */
export function installPythonTool(
  name: string,
  version: string,
  others: readonly string[] = [],
): { readonly python: string } | { readonly skipped: string } {
  const cache = join(homedir(), ".cache/millrace");
  const home = join(cache, [`${name}-${version}`, ...others.map((other) => other.replace("==", "-"))].join("-"));
  const installed = { python: join(home, "bin/python") };
  if (existsSync(home)) return installed;
  const python = ["python3", "python"].find((each) => spawnSync(each, ["-c", PYTHON_IS_NEW_ENOUGH]).status === 0);
  if (python === undefined) return { skipped: "there is no Python 3.10 or later" };
  mkdirSync(cache, { recursive: true });
  // Installed under a temporary name first, so that a partial installation is not mistaken for a complete one.
  const fresh = mkdtempSync(join(cache, `${name}-new-`));
  const pip = [
    join(fresh, "bin/python"),
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--retries",
    "1",
  ];
  try {
    for (const [program = "", ...args] of [
      [python, "-m", "venv", fresh],
      [...pip, `${name}==${version}`, ...others],
    ]) {
      const { status, stderr } = spawnSync(program, args, { encoding: "utf8", timeout: INSTALL_TIMEOUT_MS });
      if (status !== 0) return { skipped: `it cannot be installed: ${stderr.trim().split("\n").at(-1) ?? ""}` };
    }
    if (!existsSync(home)) renameSync(fresh, home);
    return installed;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
