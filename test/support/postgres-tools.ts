import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { PostgresOptions } from "../../src/dev/postgres.ts";
import { oldestPostgres } from "./oldest-postgres.ts";

const DEBIAN = "/usr/lib/postgresql";
const OLDEST = 15;

/**
 * The folder of pg_dump, pg_restore and psql: of the system, or else, as root on Debian, installed once. The packages
 * that contain the server lack them.
 */
export function findPostgresTools(): string | { readonly no: string } {
  return (
    find() ??
    install() ?? { no: "skipped: there is no pg_dump 15 or later, and apt-get cannot install postgresql-client" }
  );
}

/** A server whose version pg_dump in that folder supports; it refuses newer servers. */
export async function serverForTools(folder: string): Promise<Partial<PostgresOptions>> {
  return majorOf(folder) >= 18 ? {} : oldestPostgres((line) => console.error(line));
}

function find(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).map((version) => join(DEBIAN, version, "bin")) : [];
  const folders = [...versions, ...(process.env["PATH"] ?? "").split(":")];
  return folders
    .filter((folder) => ["pg_dump", "pg_restore", "psql"].every((name) => existsSync(join(folder, name))))
    .find((folder) => majorOf(folder) >= OLDEST);
}

function majorOf(folder: string): number {
  const { stdout } = spawnSync(join(folder, "pg_dump"), ["--version"], { encoding: "utf8" });
  return Number(/(\d+)/.exec(stdout ?? "")?.[1] ?? 0);
}

function install(): string | undefined {
  if (process.getuid?.() !== 0) return undefined;
  console.error("Installing PostgreSQL's client programs for the tests of restoring.");
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", "postgresql-client"]]) {
    if (spawnSync("apt-get", ["-qq", ...args], { stdio: "ignore" }).status !== 0) return undefined;
  }
  return find();
}
