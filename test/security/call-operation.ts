import type { Operation } from "../../src/api/http/operation.ts";
import type { Database } from "../../src/stores/db.ts";
import type { Answer, TestClient } from "../support/client.ts";
import { idFor, idsOf, NEEDED_QUERY, type Ids } from "./foreign-ids.ts";

/** IDs that a body may have but the first example lacks. */
const OPTIONAL = [
  "validateFlow.project_id",
  "evaluateExpression.project_id",
  "createDataset.project_id",
  "createErasure.project_id",
  "runAction.connection_id",
  "rollBackEnvironment.promotion_id",
];

/** A valid body: the first example, with these IDs in its ID fields. */
function bodyOf(operation: Operation, ids: Ids): unknown {
  if (operation.multipart) {
    const form = new FormData();
    form.set("file", new Blob(["by a stranger"]), "theirs.txt");
    return form;
  }
  if (!operation.body) return undefined;
  const example = (Object.values(operation.examples ?? {})[0] ?? {}) as Record<string, unknown>;
  const isGiven = (name: string): boolean => name in example || OPTIONAL.includes(`${operation.id}.${name}`);
  const members = idsOf(operation).filter((each) => each.in === "body" && isGiven(each.name));
  return {
    ...example,
    ...Object.fromEntries(
      members.map(({ name }) => {
        const id = idFor(ids, operation, name);
        return [name, Array.isArray(example[name]) ? [id] : id];
      }),
    ),
  };
}

/** Calls an operation with these IDs and, unless another body is given, with its first example. */
export async function call(
  api: TestClient,
  operation: Operation,
  ids: Ids,
  { requestId = "same", body = bodyOf(operation, ids) }: { requestId?: string; body?: unknown } = {},
): Promise<Answer & { readonly text: string }> {
  const parameters = idsOf(operation);
  const value = (name: string): string => encodeURIComponent(idFor(ids, operation, name) ?? "");
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => value(name));
  const query = parameters.filter((each) => each.in === "query").map(({ name }) => `${name}=${value(name)}`);
  for (const [name, needed] of Object.entries(NEEDED_QUERY[operation.id] ?? {})) query.push(`${name}=${needed}`);
  const address = query.length > 0 ? `${path}?${query.join("&")}` : path;
  const response = await api.raw(operation.method, address, body, {
    headers: { "x-request-id": requestId },
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text, text };
}

/** All data of an organisation, one text per row and table, without columns that change on their own. */
export async function holdings(database: Database, orgId: string): Promise<Record<string, string[]>> {
  return database.system(async (connection) => {
    const tables = await connection.query<{ name: string }>(
      `select relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
        where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace order by 1`,
    );
    // One statement for all tables, because this runs hundreds of times.
    const rows = await connection.query<{ name: string; row: string }>(
      tables
        .map(
          ({ name }) =>
            `select '${name}' as name, (to_jsonb(t) - 'last_used_at' - 'check_at')::text as row from ${name} t where org_id = $1::uuid`,
        )
        .join(" union all ")
        .concat(" order by 1, 2"),
      [orgId],
    );
    const held: Record<string, string[]> = {};
    for (const { name, row } of rows) (held[name] ??= []).push(row);
    return held;
  });
}
