import type { Config } from "../../../config.ts";
import { mostConnections, type Database } from "../../../stores/db.ts";
import { unsupportedVersion, type ServerFacts } from "../../../stores/server.ts";
import { UnsafeSession } from "../../../stores/session.ts";
import { examineSchema } from "../check-schema.ts";
import { ok, problem, reasonOf, warning, type Finding } from "./finding.ts";

/** Largest tolerated difference of clocks (ms); a larger one breaks expiry and signatures. */
const MAX_CLOCK_SKEW_MS = 2000;
/** Most missing items that are named individually. */
const MAX_NAMED = 5;

export function postgres(config: Config, server: ServerFacts | Error): Finding[] {
  const where = addressOf(config.DATABASE_URL);
  if (server instanceof UnsafeSession) return [problem("Role", server.reason, server.advice)];
  if (server instanceof Error) return [problem("Postgres", `${where}: ${reasonOf(server)}`, adviceOn(server))];
  const unsupported = unsupportedVersion(server.version_num);
  const wanted = mostConnections(config.DATABASE_POOL_SIZE);
  const free = server.max_connections - server.connections;
  const findings = [
    unsupported !== undefined &&
      problem("Postgres", unsupported, "Move the database to a server of a supported version."),
    server.encoding !== "UTF8" &&
      problem("Postgres", `the database's encoding is ${server.encoding}`, "Create the database with encoding UTF8."),
    server.read_only &&
      problem("Postgres", "the server is read-only", "Point DATABASE_URL at the primary, not at a replica."),
    free < wanted &&
      warning(
        "Postgres",
        `${free} of ${server.max_connections} connections are free; a process opens up to ${wanted}`,
        "Raise max_connections, or lower DATABASE_POOL_SIZE.",
      ),
  ].filter((finding) => finding !== false);
  return findings.length > 0 ? findings : [ok("Postgres", `${server.version} at ${where}, ${free} connections free`)];
}

/** Whether this login can switch to the roles that separate organisations, and whether these restrict it. */
export async function roles(db: Database, { user }: ServerFacts): Promise<Finding> {
  const denied = await db.verify().then(
    () => null,
    (error: Error) => error,
  );
  return denied
    ? problem("Role", denied instanceof UnsafeSession ? denied.reason : reasonOf(denied), adviceOn(denied))
    : ok("Role", `${user} has the role millrace_app`);
}

export async function schema(db: Database, directory: string): Promise<Finding[]> {
  const { applied, missing, unknown, gaps } = await examineSchema(db, directory);
  if (unknown.length > 0)
    return [
      problem(
        "Schema",
        `a newer Millrace has migrated the database (${unknown.join(", ")})`,
        "Run that version, or restore an earlier backup.",
      ),
    ];
  if (missing.length > 0)
    return [
      problem("Schema", `${missing.length} migrations are missing, from ${missing[0]} on`, "Run `millrace migrate`."),
    ];
  const foreign = gaps.filter((gap) => gap.foreign);
  const lacking = gaps.filter((gap) => !gap.foreign).map(({ what }) => what);
  const findings = foreign.map(({ what, statement }) => problem("Schema", `unexpected: ${what}`, statement));
  if (lacking.length > 0)
    findings.push(problem("Schema", `missing, as after a restore: ${listed(lacking)}`, "Run `millrace migrate`."));
  return findings.length > 0
    ? findings
    : [ok("Schema", `${applied} migrations, none missing, all policies and grants`)];
}

/** The first names, and the number of further ones. */
function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).join(", ");
  return names.length > MAX_NAMED ? `${shown} and ${names.length - MAX_NAMED} more` : shown;
}

export function clock({ skew_ms }: ServerFacts): Finding {
  const text = `${Math.abs(skew_ms)} ms off the database's clock`;
  return Math.abs(skew_ms) > MAX_CLOCK_SKEW_MS
    ? problem(
        "Clock",
        `the clock is ${text}`,
        "Synchronise both clocks with NTP: the expiry of keys and webhook signatures depend on them.",
      )
    : ok("Clock", text);
}

/** Host, port and database of a URL, without the password. */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) return "the database";
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

const codeOf = (error: Error): unknown => (error as { code?: unknown }).code;

/** The SQLSTATE of a server that has no free connection. */
const TOO_MANY_CONNECTIONS = "53300";

/** The settings that name a Postgres server. */
export type DatabaseSetting = "DATABASE_URL" | "DATABASE_REPLICA_URL";

/** What to do if a connection to Postgres is refused. */
export function adviceOn(error: Error, setting: DatabaseSetting = "DATABASE_URL"): string {
  if (error instanceof UnsafeSession) return error.advice;
  switch (codeOf(error)) {
    case TOO_MANY_CONNECTIONS:
      return "Postgres is running, but all its connections are in use: raise max_connections, lower DATABASE_POOL_SIZE, or run fewer processes.";
    case "3D000":
      return setting === "DATABASE_URL"
        ? "Create the database (createdb), or correct its name in DATABASE_URL."
        : `Correct the name of the database in ${setting}: a replica has the same databases as its primary.`;
    case "28P01":
    case "28000":
      return `Correct user and password in ${setting}, or allow the user in pg_hba.conf.`;
    default:
      return `Start it, or correct ${setting} (host, port).`;
  }
}
