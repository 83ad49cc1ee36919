import { randomUUID } from "node:crypto";
import { readFile, statfs, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../config.ts";
import { directoryOf } from "../../platform/blobs/blob-place.ts";
import { openBlobStore } from "../../platform/blobs/blobs.ts";
import { existingMasterKeys } from "../../platform/secrets/master-key.ts";
import { createSecretBox } from "../../platform/secrets/seal.ts";
import { openDatabase } from "../../stores/db.ts";
import type { Database } from "../../stores/db.ts";
import { compareMigrations } from "../../stores/migrate.ts";
import { examineServer } from "../../stores/server.ts";
import type { ServerFacts } from "../../stores/server.ts";
import { examineTemporal } from "../../temporal/examine.ts";
import { countUnreadable } from "../secrets/reseal.ts";

/** One thing that was looked at: how it is, and what to do where it is not in order. */
export interface Finding {
  readonly part: string;
  readonly state: "ok" | "warning" | "problem";
  readonly text: string;
  readonly advice?: string;
}

const MIN_NODE = [20, 19] as const;
const MIN_POSTGRES = 14;
/** Clocks that differ by more disturb expiry and signatures (ms). */
const MAX_CLOCK_SKEW_MS = 2000;
/** No organisation has it. */
const NO_ORGANISATION = "00000000-0000-0000-0000-000000000000";
const MIN_FREE_BYTES = 1024 ** 3;
/** Subscriptions whose secrets are opened to see whether the master key is the right one. */
const MAX_SECRETS = 100;

/** Looks at everything an installation needs, as the configuration has it, and says what to do about what is not in order. Changes nothing. */
export async function examine(config: Config, migrationsDir: string): Promise<Finding[]> {
  const db = openDatabase({
    url: config.DATABASE_URL,
    poolSize: 2,
    applicationName: "millrace-doctor",
    onError: () => undefined,
  });
  try {
    const server = await db.system(examineServer).catch((error: Error) => error);
    const findings = [node(), ...postgres(config, server)];
    const there = !(server instanceof Error);
    if (there) findings.push(...(await appRole(db, server)), await migrations(db, migrationsDir), clock(server));
    findings.push(...(await temporal(config)), await blobs(config));
    return [...findings, await masterKey(config, there ? db : undefined)];
  } finally {
    await db.close();
  }
}

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const old = major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1]);
  return old
    ? problem("Node", `${process.version} is too old`, `Install Node ${MIN_NODE.join(".")} or later.`)
    : ok("Node", process.version);
}

function postgres(config: Config, server: ServerFacts | Error): Finding[] {
  const where = addressOf(config.DATABASE_URL);
  if (server instanceof Error) {
    return [
      problem(
        "Postgres",
        `${where}: ${reasonOf(server)}`,
        "Start it, or correct DATABASE_URL (host, port, database, user, password).",
      ),
    ];
  }
  const findings: Finding[] = [];
  const major = Math.floor(server.version_num / 10_000);
  if (major < MIN_POSTGRES)
    findings.push(
      problem("Postgres", `version ${server.version} is too old`, `Upgrade it to ${MIN_POSTGRES} or later.`),
    );
  if (server.encoding !== "UTF8")
    findings.push(
      problem("Postgres", `the database is encoded in ${server.encoding}`, "Create the database with encoding UTF8."),
    );
  if (server.read_only)
    findings.push(
      problem("Postgres", "the server takes no writes", "Point DATABASE_URL at the primary, not at a replica."),
    );
  // Each process has a pool of this size, a third of it once more for what concerns all organisations, and two listeners.
  const wanted = Math.ceil((config.DATABASE_POOL_SIZE * 4) / 3) + 2;
  const free = server.max_connections - server.connections;
  if (free < wanted)
    findings.push(
      warning(
        "Postgres",
        `${free} of ${server.max_connections} connections are free; a process opens up to ${wanted}`,
        "Raise max_connections, or lower DATABASE_POOL_SIZE.",
      ),
    );
  return findings.length > 0 ? findings : [ok("Postgres", `${server.version} at ${where}, ${free} connections free`)];
}

async function appRole(db: Database, server: ServerFacts): Promise<Finding[]> {
  const { role } = server;
  if (!role)
    return [problem("Role", "there is no role millrace_app", "Run `millrace migrate` as a user who may create roles.")];
  if (role.superuser || role.bypass_rls)
    return [
      problem(
        "Role",
        "millrace_app is exempt from row-level security, which keeps organisations apart",
        "alter role millrace_app nosuperuser nobypassrls;",
      ),
    ];
  const denied = await db
    .org(randomUUID(), async (connection) => connection.query("select 1"))
    .then(
      () => null,
      (error: Error) => error,
    );
  return denied
    ? [
        problem(
          "Role",
          `user ${server.user} cannot act as millrace_app: ${reasonOf(denied)}`,
          `grant millrace_app to "${server.user}";`,
        ),
      ]
    : [ok("Role", `${server.user} acts as millrace_app`)];
}

async function migrations(db: Database, directory: string): Promise<Finding> {
  const { applied, missing, unknown } = await db.system((connection) => compareMigrations(connection, directory));
  if (unknown.length > 0)
    return problem(
      "Schema",
      `a newer Millrace has migrated the database (${unknown.join(", ")})`,
      "Run that version, or restore a backup from before.",
    );
  if (missing.length > 0)
    return problem(
      "Schema",
      `${missing.length} migrations are missing, from ${missing[0]} on`,
      "Run `millrace migrate`.",
    );
  return ok("Schema", `${applied} migrations, none missing`);
}

async function temporal(config: Config): Promise<Finding[]> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = config;
  const seen = await examineTemporal(config);
  if ("unreachable" in seen)
    return [
      problem(
        "Temporal",
        `${address}: ${seen.unreachable}`,
        "Start it, or correct TEMPORAL_ADDRESS, TEMPORAL_TLS and TEMPORAL_API_KEY.",
      ),
    ];
  if ("refused" in seen)
    return [
      problem(
        "Temporal",
        `${address} does not serve us namespace ${namespace}: ${seen.refused}`,
        `Create it (temporal operator namespace create -n ${namespace}), or correct TEMPORAL_NAMESPACE or TEMPORAL_API_KEY.`,
      ),
    ];
  const described = ok("Temporal", `${seen.version} at ${address}, namespace ${namespace}`);
  const idle = seen.queues.filter(({ pollers }) => pollers === 0);
  const waiting = seen.queues.filter(({ backlog }) => (backlog ?? 0) > 0);
  const findings = idle.map(({ name, type, backlog }) =>
    problem(
      "Task queue",
      `nobody polls the ${type} tasks of ${name}${backlog ? `, and ${backlog} wait` : ""}`,
      "Start a worker (`millrace worker`) with the same MILLRACE_TASK_QUEUE.",
    ),
  );
  for (const { name, type, pollers, backlog, backlog_age_seconds: age } of waiting) {
    if (pollers > 0 && (age ?? 0) > 60)
      findings.push(
        warning(
          "Task queue",
          `${backlog} ${type} tasks of ${name} wait, the oldest for ${Math.round(age ?? 0)} s`,
          "Add workers.",
        ),
      );
  }
  const processes = Math.max(0, ...seen.queues.map(({ pollers }) => pollers));
  return findings.length > 0
    ? [described, ...findings]
    : [described, ok("Task queues", `${seen.queues.length} polled, by up to ${processes} processes; no backlog`)];
}

async function blobs(config: Config): Promise<Finding> {
  const place = config.MILLRACE_BLOB_URL;
  return place.kind === "file" ? directoryOfBlobs(place.directory) : bucketOfBlobs(config, `s3://${place.bucket}`);
}

async function bucketOfBlobs(config: Config, name: string): Promise<Finding> {
  const store = await openBlobStore(config);
  const content = Buffer.from(randomUUID());
  try {
    const { key } = await store.put(NO_ORGANISATION, content, { maxBytes: content.length });
    const read = await store.read(key, content.length).finally(() => store.delete(key));
    if (!read.equals(content))
      return problem("Blobs", `${name} does not give back what was written`, "Ask its operator.");
    // Housekeeping lists.
    for await (const _ of store.list(new Date(0))) break;
    return ok("Blobs", `${name} can be written, read and listed`);
  } catch (error) {
    const advice =
      "Check MILLRACE_BLOB_URL (bucket, endpoint, region), the keys in MILLRACE_S3_*, and that they may get, put, delete and list objects and abort uploads.";
    return problem("Blobs", `${name}: ${(error as Error).message}`, advice);
  } finally {
    await store.close();
  }
}

async function directoryOfBlobs(root: string): Promise<Finding> {
  const path = join(root, "tmp", `doctor-${randomUUID()}`);
  const text = randomUUID();
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    try {
      if ((await readFile(path, "utf8")) !== text)
        return problem("Blobs", `${root} does not give back what was written`, "Check the file system.");
    } finally {
      await unlink(path);
    }
    const { bavail, bsize } = await statfs(root);
    const free = bavail * bsize;
    const left = `${(free / 1024 ** 3).toFixed(1)} GiB free`;
    return free < MIN_FREE_BYTES
      ? problem("Blobs", `${root}: ${left}`, "Make room: uploads and long values fail when it is full.")
      : ok("Blobs", `${root} can be written and read, ${left}`);
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    return problem(
      "Blobs",
      `${root}: ${missing ? "it is not there" : reasonOf(error as Error)}`,
      missing
        ? "Set MILLRACE_BLOB_URL as the api and the workers have it; the first of them makes the directory."
        : "Let the user that runs Millrace write to it.",
    );
  }
}

async function masterKey(config: Config, db: Database | undefined): Promise<Finding> {
  const directory = directoryOf(config.MILLRACE_BLOB_URL);
  const from = config.MILLRACE_MASTER_KEY ? "MILLRACE_MASTER_KEY" : join(directory ?? "", "master.key");
  const keys = await existingMasterKeys(config.MILLRACE_MASTER_KEY, directory).catch((error: Error) => error);
  if (keys instanceof Error)
    return problem("Master key", reasonOf(keys), "Put back the key that the stored secrets were encrypted under.");
  if (!keys)
    return problem(
      "Master key",
      `there is none in ${from}`,
      "Set MILLRACE_MASTER_KEY, or start an api or worker, which makes one there.",
    );
  const unread = db ? await countUnreadable(db, createSecretBox(keys), MAX_SECRETS).catch(() => null) : null;
  if (unread !== null && unread > 0)
    return problem(
      "Master key",
      `${from} does not open ${unread} of the stored secrets`,
      "Add the key they were encrypted under to MILLRACE_MASTER_KEY; `millrace secrets reseal` names them.",
    );
  return ok("Master key", `${from}${unread === 0 ? ", opens the stored secrets" : ""}`);
}

function clock({ skew_ms }: ServerFacts): Finding {
  const text = `${Math.abs(skew_ms)} ms from the database's`;
  return Math.abs(skew_ms) > MAX_CLOCK_SKEW_MS
    ? problem(
        "Clock",
        `it is ${text}`,
        "Let NTP set the clocks of both machines: keys expire and webhooks are signed by them.",
      )
    : ok("Clock", text);
}

const ok = (part: string, text: string): Finding => ({ part, state: "ok", text });
const warning = (part: string, text: string, advice: string): Finding => ({ part, state: "warning", text, advice });
const problem = (part: string, text: string, advice: string): Finding => ({ part, state: "problem", text, advice });

/** Host, port and database: never the password. */
function addressOf(url: string): string {
  if (!URL.canParse(url)) return "the database";
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

/** Of an error that has no message (several addresses were tried), the first that has one. */
function reasonOf(error: Error): string {
  const inner = error instanceof AggregateError ? (error.errors[0] as Error | undefined) : undefined;
  return error.message || inner?.message || error.name;
}
