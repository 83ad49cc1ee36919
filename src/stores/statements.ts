import { createHash } from "node:crypto";
import type { Client, PoolClient, QueryResult, QueryResultRow } from "pg";
import { isOutdated } from "./database-errors.ts";

export interface Statement {
  readonly text: string;
  /** False plans the statement for each call: for statements whose text depends on the request, and for plans that depend on the values. */
  readonly prepared?: false;
  /** Longest time of the statement, ms; default: the pool's. The server's own statement_timeout applies too. */
  readonly query_timeout?: number;
}

/** A statement that is planned for each call. */
export const plannedAnew = (text: string): Statement => ({ text, prepared: false });

type Text = Statement | string;
type Values = readonly unknown[];

/**
 * What store functions take as `db`: a way to run statements, inside or outside a transaction. Where a `Database` is `db`, what it lends is
 * `connection`. A statement with values is prepared: parsed and planned once a connection. Without values it may be several statements.
 */
export interface Db {
  query<Row extends QueryResultRow>(statement: Text, values?: Values): Promise<Row[]>;
  /** The first row, or null. */
  first<Row extends QueryResultRow>(statement: Text, values?: Values): Promise<Row | null>;
  /** The only row. Throws if there is none. */
  one<Row extends QueryResultRow>(statement: Text, values?: Values): Promise<Row>;
  /** The first column of each row. */
  column<Value>(statement: Text, values?: Values): Promise<Value[]>;
  /** The rows as a map, from the first column to the second. */
  pairs<Key, Value>(statement: Text, values?: Values): Promise<Map<Key, Value>>;
  /** The first column of the first row, or null. */
  value<Value>(statement: Text, values?: Values): Promise<Value | null>;
  /** The first column of the first row; 0 without one. */
  number(statement: Text, values?: Values): Promise<number>;
  /** Whether the first column of the first row is true. */
  holds(statement: Text, values?: Values): Promise<boolean>;
  /** How many rows a statement finds or changes. */
  count(statement: Text, values?: Values): Promise<number>;
  /** Whether a statement finds or changes a row. */
  any(statement: Text, values?: Values): Promise<boolean>;
}

/** Connections with a prepared statement that a migration has outdated; they are closed when they are released. */
const outdated = new WeakSet<PoolClient | Client>();

/** Whether a connection has such a statement. */
export function isSpoiled(client: PoolClient): boolean {
  return outdated.has(client);
}

/** Statements over one connection; each commits alone, or all of them are in one transaction. */
export function asDb(client: PoolClient | Client, unit: "statement" | "transaction" = "statement"): Db {
  const send = async <Row extends QueryResultRow>(statement: Text, values: Values = []): Promise<QueryResult<Row>> => {
    const { prepared = values.length > 0, ...plain } = typeof statement === "string" ? { text: statement } : statement;
    const query = { ...plain, values: [...values] };
    if (!prepared) return client.query<Row>(query);
    try {
      return await client.query<Row>({ ...query, name: nameOf(plain.text) });
    } catch (error) {
      if (!isOutdated(error)) throw error;
      outdated.add(client);
      // Nothing has been executed. Inside a transaction the statement cannot be repeated, so the caller retries with another connection.
      if (unit === "transaction") throw error;
      return client.query<Row>(query);
    }
  };
  const value = async <Value>(text: Text, values?: Values): Promise<Value | null> =>
    (await send(text, values)).rows.map(firstColumn<Value>)[0] ?? null;
  return {
    query: async <Row extends QueryResultRow>(text: Text, values?: Values) => (await send<Row>(text, values)).rows,
    first: async <Row extends QueryResultRow>(text: Text, values?: Values) =>
      (await send<Row>(text, values)).rows[0] ?? null,
    async one<Row extends QueryResultRow>(text: Text, values?: Values) {
      const [row] = (await send<Row>(text, values)).rows;
      if (row === undefined) throw new Error("the statement returned no row");
      return row;
    },
    column: async <Value>(text: Text, values?: Values) => (await send(text, values)).rows.map(firstColumn<Value>),
    pairs: async <Key, Value>(text: Text, values?: Values) =>
      new Map((await send(text, values)).rows.map((row) => Object.values(row) as [Key, Value])),
    value,
    number: async (text, values) => (await value<number>(text, values)) ?? 0,
    holds: async (text, values) => (await value<boolean>(text, values)) === true,
    count: async (text, values) => (await send(text, values)).rowCount ?? 0,
    any: async (text, values) => ((await send(text, values)).rowCount ?? 0) > 0,
  };
}

const firstColumn = <Value>(row: object): Value => Object.values(row)[0] as Value;

const names = new Map<string, string>();

/** The name of a prepared statement: the same in every process, because some poolers share sessions. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) names.set(text, (name = createHash("sha256").update(text).digest("base64url")));
  return name;
}
