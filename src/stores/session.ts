import type { ClientBase } from "pg";
import { quoted } from "./identifiers.ts";
import { ORGANISATION_TABLES } from "./organisation-tables.ts";

/** The role of a pool's sessions: one restricted to rows, or the login of DATABASE_URL. */
export type ActsAs = "millrace_app" | "millrace_search" | "login";

const NO_POOLER = "Let DATABASE_URL lead to Postgres itself, not to a pooler such as PgBouncer.";

/** Longest wait for this check (ms), because no request is served before it. */
const TIMEOUT_MS = 5000;

/**
 * Thrown if a session would see rows that it should not, or none; `advice` says how to repair that, in SQL if
 * possible.
 */
export class UnsafeSession extends Error {
  readonly reason: string;
  readonly advice: string;

  constructor(reason: string, advice: string, options?: ErrorOptions) {
    super(`${reason}: ${advice}`, options);
    this.name = "UnsafeSession";
    this.reason = reason;
    this.advice = advice;
  }
}

/** Thrown if a role does not exist yet: `migrate` makes it. */
export class RoleMissing extends UnsafeSession {}

interface Facts {
  readonly login: string;
  readonly role: string;
  readonly database: string;
  readonly row_security: boolean;
  readonly exempt: boolean;
  /** A table of organisations on which policies do not restrict the role, and whether the role owns it. */
  readonly open: { readonly name: string; readonly owned: boolean } | null;
  /** A table on which policies restrict the role, and its owner. */
  readonly held: { readonly name: string; readonly owner: string } | null;
}

// `row_security_active` covers all exemptions from policies: ownership, attributes of the role, and the table's own switch.
const FACTS = `
  with readable as materialized (
    select c.oid, c.relname as name, pg_get_userbyid(c.relowner) as owner, row_security_active(c.oid) as held
    from (${ORGANISATION_TABLES}) c
    where has_table_privilege(c.oid, 'select')
  )
  select session_user::text as login, current_user::text as role, current_database()::text as database,
    current_setting('row_security') = 'on' as row_security,
    (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) as exempt,
    (select jsonb_build_object('name', name, 'owned', owner = current_user) from readable where not held order by name limit 1) as open,
    (select jsonb_build_object('name', name, 'owner', owner) from readable where held order by name limit 1) as held`;

/**
 * Verifies in one round trip that a new session fits its pool. A pooler can drop options set at the start of a connection, and then no
 * policy restricts the session. Throws UnsafeSession.
 */
export async function assertSession(client: ClientBase, as: ActsAs): Promise<void> {
  const query = { text: FACTS, query_timeout: TIMEOUT_MS };
  const [facts] = (await client.query<Facts>(query)).rows;
  if (facts === undefined) throw new Error("the server returned no row");
  const problem = as === "login" ? problemOfLogin(facts) : problemOfRole(facts, as);
  if (problem !== undefined) throw new UnsafeSession(...problem);
}

function problemOfRole(facts: Facts, as: ActsAs): [reason: string, advice: string] | undefined {
  const { login, role, database, open } = facts;
  if (role !== as)
    return [`a session has the role ${role} instead of ${as}, because the connection's options were lost`, NO_POOLER];
  if (facts.exempt)
    return [
      `${as} is exempt from row-level security, which keeps organisations apart`,
      `alter role ${as} nosuperuser nobypassrls;`,
    ];
  if (!facts.row_security)
    return [
      `row_security is off for ${login}`,
      `alter role ${quoted(login)} in database ${quoted(database)} set row_security = on;`,
    ];
  if (open?.owned)
    return [
      `${as} owns ${open.name}, and policies do not apply to a table's owner`,
      `alter table ${open.name} owner to ${quoted(login)}; -- and run migrate: its grants go with the owner`,
    ];
  if (open)
    return [`no policies restrict ${as} in ${open.name}`, `alter table ${open.name} enable row level security;`];
  return undefined;
}

function problemOfLogin({ login, role, held }: Facts): [reason: string, advice: string] | undefined {
  if (role === "millrace_app" || role === "millrace_search")
    return [`sessions of ${login} start with the role ${role}`, `alter role ${quoted(login)} reset role;`];
  if (held !== null)
    return [
      `${role} sees no rows: it does not own ${held.name}, and is not exempt from its policies`,
      `grant ${quoted(held.owner)} to ${quoted(role)};`,
    ];
  return undefined;
}

/**
 * Why a connection was refused: an UnsafeSession if the cause is its role, or a pooler that refuses options; else the
 * error itself.
 */
export function explainRefusal(error: unknown, as: ActsAs, login: string): unknown {
  // PgBouncer's message if its ignore_startup_parameters does not have `options`.
  if (error instanceof Error && /unsupported startup parameter: options/.test(error.message))
    return new UnsafeSession("the connection's options were rejected", NO_POOLER, { cause: error });
  // The server quotes the option's name in any language.
  if (as === "login" || !(error instanceof Error) || !error.message.includes(`"${as}"`)) return error;
  switch ((error as { code?: unknown }).code) {
    case "22023":
      return new RoleMissing(`role ${as} does not exist`, "Run `millrace migrate` as a user that may create roles.", {
        cause: error,
      });
    case "42501":
      return new UnsafeSession(`user ${login} cannot act as ${as}`, `grant ${as} to ${quoted(login)};`, {
        cause: error,
      });
    default:
      return error;
  }
}
