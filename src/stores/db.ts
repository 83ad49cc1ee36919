import { createHash } from "node:crypto";
import { Pool, types } from "pg";
import type { Client, PoolClient, QueryResult, QueryResultRow } from "pg";
import { isUuid } from "../domain/uuid.ts";
import { connectionTo, PooledClient } from "./connection-address.ts";
import { listen } from "./listen.ts";
import { assertSession, explainRefusal, UnsafeSession } from "./session.ts";
import type { ActsAs } from "./session.ts";

// Times leave the database as RFC 3339 text and stay text: a Date loses microseconds and invites local time.
const TIMESTAMPTZ = 1184;
const INT8 = 20;
const parsers: typeof types.getTypeParser = ((oid: number, format: never) => {
  if (oid === TIMESTAMPTZ) return (value: string) => new Date(value).toISOString();
  if (oid === INT8) return Number;
  return types.getTypeParser(oid, format);
}) as typeof types.getTypeParser;

export interface Statement {
  readonly text: string;
  /** False: planned for each call. For texts that depend on what is asked for, and for plans that depend on the values. */
  readonly prepared?: false;
  /** Longest time of the statement, ms; default: the pool's. The server's own statement_timeout applies too. */
  readonly query_timeout?: number;
}

/** A statement with values is prepared: parsed and planned once a connection. Without values it may be several statements. */
type Sent = [statement: Statement | string, values?: readonly unknown[]];

/** What store functions take: a way to run statements, inside or outside a transaction. */
export interface Db {
  query<Row extends QueryResultRow>(...sent: Sent): Promise<Row[]>;
  /** The first row, or null. */
  first<Row extends QueryResultRow>(...sent: Sent): Promise<Row | null>;
  /** The first column of each row. */
  column<Value>(...sent: Sent): Promise<Value[]>;
  /** The first column of the first row, or null. */
  value<Value>(...sent: Sent): Promise<Value | null>;
  /** How many rows a statement finds or changes. */
  count(...sent: Sent): Promise<number>;
  /** Whether a statement finds or changes a row. */
  any(...sent: Sent): Promise<boolean>;
}

/** How many connections a pool has, and how many callers wait for one. */
export interface PoolStats {
  readonly pool: "organisation" | "system" | "search";
  readonly open: number;
  readonly idle: number;
  readonly limit: number;
  readonly waiting: number;
}

/** The database as services use it. */
export interface Database {
  /** Runs `work` with access to one organisation's rows; every statement commits alone. */
  org<T>(orgId: string, work: (db: Db) => Promise<T>): Promise<T>;
  /** The same in one transaction: all of it or nothing. */
  orgTransaction<T>(orgId: string, work: (db: Db) => Promise<T>): Promise<T>;
  /**
   * Runs `work` as role `millrace_search`, which reads knowledge bases of every organisation and nothing else: each statement
   * must name the organisation itself. Those with `prepared: false` are planned anew each time, because the best plan depends on
   * how frequent the words are.
   */
  search<T>(work: (db: Db) => Promise<T>): Promise<T>;
  /**
   * Runs `work` across all organisations: for credentials, sweepers, relays and the command line, never for what a
   * request names directly.
   */
  system<T>(work: (db: Db) => Promise<T>): Promise<T>;
  systemTransaction<T>(work: (db: Db) => Promise<T>): Promise<T>;
  /**
   * Calls `onNotify` for each notification on `channel`, and always reconnects. `onReconnect`: some may have been
   * lost.
   */
  listen(channel: string, onNotify: (payload: string) => void, onReconnect: () => void): { close(): Promise<void> };
  /** Opens a session of each kind. Throws UnsafeSession if one would not be restricted to the rows that it may see. */
  verify(): Promise<void>;
  ping(): Promise<void>;
  /** The usage of the connection pools. */
  pools(): PoolStats[];
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly onError: (error: Error) => void;
}

/**
 * Opens the pools: one as role `millrace_app`, restricted to one organisation's rows, one as the login role for the
 * rest, and one for searches. A session with a role other than its pool's is closed, and its caller gets
 * UnsafeSession.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const common = {
    ...connectionTo(options.url),
    Client: PooledClient,
    application_name: options.applicationName,
    // Without these a request to an unreachable server would wait for the kernel's own time-outs.
    connectionTimeoutMillis: 5000,
    keepAlive: true,
    // Longer than the intervals of periodic jobs, which would otherwise open new connections each time.
    idleTimeoutMillis: 60_000,
    types: { getTypeParser: parsers },
  };
  // The server enforces the statement's time limit; this later limit covers a server that no longer responds.
  // Statements are planned once a connection and kept: planning the longest takes more than executing it. A plan made while its
  // table was small would keep reading all of it as it grows, until Postgres analyses the table. `select * from projects where
  // project_id = $1`, prepared at 40 analysed rows: "Seq Scan" of 20 040 rows later, 248 pages in 3.4 ms; with enable_seqscan=off
  // "Index Scan using projects_pkey", 5 pages in 0.09 ms. Any kept statement can meet this, hence the pool: for one statement
  // it takes a transaction and two more round trips. Whole tables are still read where no index serves.
  const planning = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off";
  const orgPool = new Pool({
    ...common,
    verify: asserting("millrace_app"),
    max: options.poolSize,
    options: `-c role=millrace_app -c statement_timeout=30000 ${planning}`,
    query_timeout: 32_000,
  });
  const systemPool = new Pool({
    ...common,
    verify: asserting("login"),
    max: Math.max(2, Math.ceil(options.poolSize / 3)),
    options: `-c statement_timeout=60000 ${planning}`,
    query_timeout: 62_000,
  });
  // pgvector looks at 150 candidates (recall@10 above 0.98 for 100 000 vectors), and at more until enough of them are
  // searchable. A server without pgvector accepts any setting with a dot in its name.
  const searchPool = new Pool({
    ...common,
    verify: asserting("millrace_search"),
    max: options.poolSize,
    options:
      "-c hnsw.ef_search=150 -c hnsw.iterative_scan=relaxed_order -c role=millrace_search -c default_transaction_read_only=on -c statement_timeout=15000 -c plan_cache_mode=auto " +
      "-c enable_seqscan=off -c jit=off -c max_parallel_workers_per_gather=0 -c work_mem=32MB",
    query_timeout: 17_000,
  });
  const pools = new Map<Pool, ActsAs>([
    [orgPool, "millrace_app"],
    [systemPool, "login"],
    [searchPool, "millrace_search"],
  ]);
  for (const pool of pools.keys()) {
    pool.on("error", options.onError);
    pool.on("connect", (client) => client.on("error", options.onError));
  }
  /** Pools whose last new session was refused. */
  const refused = new Set<Pool>();
  const login = URL.canParse(options.url) ? decodeURIComponent(new URL(options.url).username) : "";

  async function connect(pool: Pool): Promise<PoolClient> {
    try {
      const client = await pool.connect();
      refused.delete(pool);
      return client;
    } catch (error) {
      const explained = explainRefusal(error, pools.get(pool) ?? "login", login);
      if (explained instanceof UnsafeSession) refused.add(pool);
      throw explained;
    }
  }

  // The organisation that a connection was last set to: most statements then need no extra round trip.
  const setTo = new WeakMap<PoolClient, string>();

  async function enterOrg(client: PoolClient, orgId: string): Promise<void> {
    if (!isUuid(orgId)) throw new Error("an organisation id must be a UUID");
    if (setTo.get(client) === orgId) return;
    setTo.delete(client);
    await client.query({ name: "enter_org", text: "select set_config('millrace.org_id', $1, false)", values: [orgId] });
    setTo.set(client, orgId);
  }

  async function borrow<T>(
    pool: Pool,
    enter: ((client: PoolClient) => Promise<void>) | null,
    work: (client: PoolClient) => Promise<T>,
  ): Promise<T> {
    const client = await connect(pool);
    let broken: Error | undefined;
    try {
      if (enter) await enter(client);
      return await work(client);
    } catch (error) {
      if (isConnectionError(error)) broken = error as Error;
      throw error;
    } finally {
      client.release(broken ?? outdated.has(client));
    }
  }

  const plain =
    <T>(work: (db: Db) => Promise<T>) =>
    (client: PoolClient) =>
      work(asDb(client));
  const inTransaction =
    <T>(work: (db: Db) => Promise<T>) =>
    async (client: PoolClient): Promise<T> => {
      await client.query("begin");
      try {
        const result = await work(asDb(client, "transaction"));
        await client.query("commit");
        return result;
      } catch (error) {
        // A lost connection ends its transaction, as does a failed rollback; the first error is more informative.
        if (!isConnectionError(error)) await client.query("rollback").catch(() => undefined);
        throw error;
      }
    };

  return {
    org: (orgId, work) => borrow(orgPool, (client) => enterOrg(client, orgId), plain(work)),
    orgTransaction: (orgId, work) => borrow(orgPool, (client) => enterOrg(client, orgId), inTransaction(work)),
    search: (work) => borrow(searchPool, null, plain(work)),
    system: (work) => borrow(systemPool, null, plain(work)),
    systemTransaction: (work) => borrow(systemPool, null, inTransaction(work)),
    listen: (channel, onNotify, onReconnect) => listen(common, channel, onNotify, onReconnect, options.onError),
    async verify() {
      for (const pool of pools.keys()) (await connect(pool)).release();
    },
    async ping() {
      await borrow(systemPool, null, (client) => client.query("select 1"));
      // Checked here, because no request tries these pools before the process is ready again.
      for (const pool of refused) (await connect(pool)).release();
    },
    pools: () => [poolStats("organisation", orgPool), poolStats("system", systemPool), poolStats("search", searchPool)],
    close: async () => {
      await Promise.all([...pools.keys()].map((pool) => pool.end()));
    },
  };
}

/** Checks each new session before it is used. */
function asserting(as: ActsAs): (client: PoolClient, done: (error?: Error) => void) => void {
  return (client, done) => {
    assertSession(client, as).then(
      () => done(),
      (error: Error) => done(error),
    );
  };
}

function poolStats(pool: PoolStats["pool"], { totalCount, idleCount, waitingCount, options }: Pool): PoolStats {
  return { pool, open: totalCount, idle: idleCount, limit: options.max, waiting: waitingCount };
}

/** Connections with a prepared statement that a migration has outdated. They are closed once they are released. */
const outdated = new WeakSet<PoolClient | Client>();

/** Statements over one connection; each commits alone, or all of them are in one transaction. */
export function asDb(client: PoolClient | Client, unit: "statement" | "transaction" = "statement"): Db {
  const send = async <Row extends QueryResultRow>(...[statement, values = []]: Sent): Promise<QueryResult<Row>> => {
    const { prepared = values.length > 0, ...plain } = typeof statement === "string" ? { text: statement } : statement;
    const query = { ...plain, values: [...values] };
    if (!prepared) return client.query<Row>(query);
    try {
      return await client.query<Row>({ ...query, name: nameOf(plain.text) });
    } catch (error) {
      if (!isOutdated(error)) throw error;
      outdated.add(client);
      // Nothing has been executed, but a transaction cannot go on: its caller tries again with another connection.
      if (unit === "transaction") throw error;
      return client.query<Row>(query);
    }
  };
  return {
    query: async <Row extends QueryResultRow>(...sent: Sent) => (await send<Row>(...sent)).rows,
    first: async <Row extends QueryResultRow>(...sent: Sent) => (await send<Row>(...sent)).rows[0] ?? null,
    column: async <Value>(...sent: Sent) => (await send(...sent)).rows.map(firstColumn<Value>),
    value: async <Value>(...sent: Sent) => (await send(...sent)).rows.map(firstColumn<Value>)[0] ?? null,
    count: async (...sent) => (await send(...sent)).rowCount ?? 0,
    any: async (...sent) => ((await send(...sent)).rowCount ?? 0) > 0,
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

/** Errors of sockets and of name resolution (EAI_AGAIN: it may work later). */
const UNREACHABLE = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
]);

/**
 * Whether a prepared statement was refused, since the columns of its result have changed: processes of before go on while a migration adds
 * a column to a table that they select whole. The message is in the server's language.
 */
function isOutdated(error: unknown): boolean {
  const { code, routine } = error as { readonly code?: unknown; readonly routine?: unknown };
  return code === "0A000" && routine === "RevalidateCachedQuery";
}

/** Whether the error means that Postgres is unreachable, shutting down or unusable (not that a statement failed). */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof UnsafeSession || isOutdated(error)) return true;
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string") {
    // Class 08: connection exception; 57P0x: shutdown, crash, starting up; 53300: no connection slot.
    if (code.startsWith("08") || code.startsWith("57P0") || code === "53300") return true;
    if (UNREACHABLE.has(code)) return true;
  }
  // pg reports these without a code.
  return /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout)/.test(
    error.message,
  );
}

/** Whether the error is a violation of the named unique constraint or index. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  const { code, constraint: name } = error as { code?: unknown; constraint?: unknown };
  return code === "23505" && name === constraint;
}
