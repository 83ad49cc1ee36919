import type { Db } from "./db.ts";
import { quoted } from "./identifiers.ts";
import { ORGANISATION_TABLES } from "./organisation-tables.ts";

/**
 * The database roles of the services: `millrace_app` sees the rows of one organisation; `millrace_search` only reads knowledge bases, of
 * all organisations, so each of its statements names one.
 */
const ROLES = ["millrace_app", "millrace_search"] as const;
type Role = (typeof ROLES)[number];

// The access rules that migrations give every table with rows of organisations. A test compares both.
const APP_PRIVILEGES = ["SELECT", "INSERT", "UPDATE", "DELETE"];
/** Tables on which `millrace_app` has fewer privileges than APP_PRIVILEGES. */
const FEWER_PRIVILEGES: Readonly<Record<string, readonly string[]>> = {
  // Written once, and never changed.
  model_calls: ["SELECT", "INSERT", "DELETE"],
  run_deltas: ["SELECT", "INSERT", "DELETE"],
  run_traces: ["SELECT", "INSERT", "DELETE"],
  // Even the person that an entry is about must not be able to remove it.
  audit_log: ["SELECT", "INSERT"],
};
const OWN_ROWS = "(org_id = current_org())";
const SEARCHED = [
  "knowledge_bases",
  "knowledge_chunks",
  "knowledge_embeddings",
  "knowledge_index_resources",
  "knowledge_indexes",
  "knowledge_postings",
  "knowledge_resources",
  "knowledge_vectors",
];
/** Policies of tables without an organisation column, whose rows belong to rows of another table. */
const OTHER_RULES: Readonly<Record<string, string>> = {
  knowledge_postings:
    "(index_no = ANY (ARRAY( SELECT i.index_no FROM knowledge_indexes i WHERE (i.org_id = current_org()))))",
};

/** A difference from what migrations make that affects the separation of organisations, with the SQL that repairs it. */
export interface AccessGap {
  /** Such as `policy org_rows on runs`. */
  readonly what: string;
  readonly statement: string;
  /** Set for objects that are not part of the schema; `migrate` does not change them. */
  readonly foreign?: true;
  /** Set if the gap concerns this login only: another login may be able to run the migrations. */
  readonly membership?: true;
}

interface Policy {
  readonly name: string;
  readonly roles: readonly string[];
  readonly command: string;
  readonly permissive: boolean;
  readonly using: string | null;
  readonly check: string | null;
}

interface TableFacts {
  readonly name: string;
  readonly row_security: boolean;
  readonly policies: readonly Policy[];
  readonly grants: ReadonlyArray<{ readonly role: string; readonly privilege: string }>;
}

/** The roles, policies and grants that differ from what migrations make, in the order of their repair. System only. */
export async function findAccessGaps(db: Db): Promise<AccessGap[]> {
  const gaps = await findRoleGaps(db);
  return [...gaps, ...(await readTables(db)).flatMap(gapsOfTable)];
}

/** Which roles are missing, which ones the login role may not act as, and which cannot use the schema. System only. */
export async function findRoleGaps(db: Db): Promise<AccessGap[]> {
  // From PostgreSQL 16 on, a role that creates another one is its member, but may not act as it until that is granted.
  const rows = await db.query<{
    name: Role;
    there: boolean;
    usable: boolean;
    login: string;
    schema: string;
    sees: boolean;
  }>(
    `select name, r.oid is not null as there, current_user::text as login, n.nspname::text as schema,
       coalesce(pg_has_role(current_user, r.oid,
         case when current_setting('server_version_num')::integer >= 160000 then 'SET' else 'MEMBER' end), false) as usable,
       coalesce(has_schema_privilege(r.oid, n.oid, 'usage'), false) as sees
     from unnest($1::text[]) name left join pg_roles r on r.rolname = name,
       pg_namespace n
     where n.oid = coalesce((select relnamespace from pg_class where oid = to_regclass('runs')), current_schema()::regnamespace)`,
    [ROLES],
  );
  return rows.flatMap(({ name, there, usable, sees, login, schema }) => [
    ...(there ? [] : [{ what: `role ${name}`, statement: createRole(name) }]),
    ...(usable
      ? []
      : [
          {
            what: `${login} as member of ${name}`,
            statement: `grant ${name} to ${quoted(login)};`,
            membership: true as const,
          },
        ]),
    ...(sees
      ? []
      : [{ what: `usage of the schema by ${name}`, statement: `grant usage on schema ${quoted(schema)} to ${name};` }]),
  ]);
}

/** Roles belong to the cluster: another of its databases may be migrating at the same time. */
function createRole(name: Role): string {
  return `do $$ begin create role ${name} nologin; exception when duplicate_object or unique_violation then null; end $$;`;
}

async function readTables(db: Db): Promise<TableFacts[]> {
  return db.query(
    `select c.relname::text as name, c.relrowsecurity as row_security,
       (select coalesce(jsonb_agg(jsonb_build_object('name', policyname, 'roles', roles, 'command', cmd,
           'permissive', permissive = 'PERMISSIVE', 'using', qual, 'check', with_check) order by policyname), '[]')
         from pg_policies p where p.schemaname = n.nspname and p.tablename = c.relname) as policies,
       (select coalesce(jsonb_agg(jsonb_build_object('role', r.rolname, 'privilege', a.privilege_type)), '[]')
         from aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee) as grants
     from (${ORGANISATION_TABLES}) c join pg_namespace n on n.oid = c.relnamespace
     order by c.relname`,
  );
}

function gapsOfTable(table: TableFacts): AccessGap[] {
  const { name } = table;
  const wanted = [ownRows(name), ...(SEARCHED.includes(name) ? [SEARCHED_ROWS] : [])];
  const gaps: AccessGap[] = table.row_security
    ? []
    : [{ what: `row-level security of ${name}`, statement: `alter table ${name} enable row level security;` }];
  for (const policy of wanted) {
    const found = table.policies.find((each) => each.name === policy.name);
    if (found !== undefined && isSame(found, policy)) continue;
    const drop = found === undefined ? "" : `drop policy ${policy.name} on ${name}; `;
    gaps.push({ what: `policy ${policy.name} on ${name}`, statement: `${drop}${createPolicy(name, policy)}` });
  }
  // A policy that only restricts further does not weaken the separation of organisations.
  const others = table.policies.filter((each) => each.permissive && !wanted.some((known) => known.name === each.name));
  for (const { name: other } of others) {
    const statement = `drop policy ${quoted(other)} on ${name};`;
    gaps.push({ what: `policy ${other} on ${name}, which Millrace did not create`, statement, foreign: true });
  }
  return [...gaps, ...grantGaps(table)];
}

function grantGaps({ name, grants }: TableFacts): AccessGap[] {
  const wanted: Array<[Role, readonly string[]]> = [["millrace_app", FEWER_PRIVILEGES[name] ?? APP_PRIVILEGES]];
  if (SEARCHED.includes(name)) wanted.push(["millrace_search", ["SELECT"]]);
  return wanted.flatMap(([role, privileges]) => {
    const lacking = privileges.filter(
      (privilege) => !grants.some((grant) => grant.role === role && grant.privilege === privilege),
    );
    const list = lacking.join(", ").toLowerCase();
    return lacking.length === 0
      ? []
      : [{ what: `${list} on ${name} for ${role}`, statement: `grant ${list} on ${name} to ${role};` }];
  });
}

function ownRows(table: string): Policy {
  const rule = OTHER_RULES[table] ?? OWN_ROWS;
  return { name: "org_rows", roles: ["millrace_app"], command: "ALL", permissive: true, using: rule, check: rule };
}

const SEARCHED_ROWS: Policy = {
  name: "searched_rows",
  roles: ["millrace_search"],
  command: "SELECT",
  permissive: true,
  using: "true",
  check: null,
};

function createPolicy(table: string, { name, roles, command, using, check }: Policy): string {
  const held = check === null ? "" : ` with check (${check})`;
  return `create policy ${name} on ${table} for ${command.toLowerCase()} to ${roles.join(", ")} using (${using})${held};`;
}

function isSame(found: Policy, wanted: Policy): boolean {
  return (
    found.permissive === wanted.permissive &&
    found.command === wanted.command &&
    found.roles.join() === wanted.roles.join() &&
    oneLine(found.using) === oneLine(wanted.using) &&
    oneLine(found.check) === oneLine(wanted.check)
  );
}

/** The server pretty-prints conditions over several lines. */
const oneLine = (condition: string | null): string | null => condition?.replaceAll(/\s+/g, " ").trim() ?? null;
