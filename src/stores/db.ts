import { Pool, TypeOverrides, types, type PoolClient } from "pg";
import { isUuid } from "../domain/uuid.ts";
import { connectionTo, PooledClient } from "./connection-address.ts";
import { isConnectionError } from "./database-errors.ts";
import { listen } from "./listen.ts";
import { createOrgPlaces, type OrgPatience, type OrgWork } from "./org-places.ts";
import { connectWithin } from "./pool-limit.ts";
import { assertSession, explainRefusal, UnsafeSession, type ActsAs } from "./session.ts";
import { asDb, isSpoiled, type Db } from "./statements.ts";

export { isConnectionError, isUniqueViolation } from "./database-errors.ts";
export { plannedAnew } from "./statements.ts";
export type { Db, Statement } from "./statements.ts";

// Times leave the database as RFC 3339 text and stay text: a Date loses microseconds and invites local time.
const parsers = new TypeOverrides();
parsers.setTypeParser(types.builtins.TIMESTAMPTZ, (value) => new Date(value).toISOString());
parsers.setTypeParser(types.builtins.INT8, Number);

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
  /**
   * Runs lists, statistics and exports of one organisation with the lowest priority: after all other work, few at a time, and with shorter
   * statement timeouts. Throws NoPlace if too many wait; with `patient`, waits as long as it takes.
   */
  orgRead<T>(orgId: string, work: (db: Db) => Promise<T>, patient?: boolean): Promise<T>;
  /** Runs `work` in one transaction: all of it is committed or nothing. */
  orgTransaction<T>(orgId: string, work: (db: Db) => Promise<T>): Promise<T>;
  /**
   * Runs `work` as role `millrace_search`, which reads knowledge bases of every organisation and nothing else: each statement must name the
   * organisation itself. Statements whose best plan depends on how frequent the words are should be `plannedAnew`. `orgId` is "" for words
   * that no organisation owns.
   */
  search<T>(orgId: string, work: (db: Db) => Promise<T>): Promise<T>;
  /**
   * Runs `work` across all organisations: for credentials, sweepers, relays and the command line, never for what a
   * request names directly. Work with `caller`, a key that names who causes it, leaves half of the connections to others.
   */
  system<T>(work: (db: Db) => Promise<T>, caller?: string): Promise<T>;
  systemTransaction<T>(work: (db: Db) => Promise<T>): Promise<T>;
  /**
   * Calls `onNotify` for each notification on `channel`, and always reconnects. `onReconnect` is called because notifications may have been
   * lost meanwhile.
   */
  listen(channel: string, onNotify: (payload: string) => void, onReconnect: () => void): { close(): Promise<void> };
  /** Opens a session of each pool. Throws UnsafeSession if a session could see rows that it must not. */
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
  /** Time after which an unused connection is closed (ms); default a minute. */
  readonly idleMs?: number;
  /** How long work of an organisation waits for a connection. */
  readonly patience?: OrgPatience;
}

const systemPoolSize = (poolSize: number): number => Math.max(2, Math.ceil(poolSize / 3));

/** Connections that a process opens to listen: for changes of runs, for deliveries, and for workflows to start. */
const LISTENERS = 3;

/** Most connections of a process with pools of this size: one for organisations, one for searches, and a smaller one for the rest. */
export function mostConnections(poolSize: number): number {
  return 2 * poolSize + systemPoolSize(poolSize) + LISTENERS;
}

/** Longest time of a statement on an organisation's rows, and of one that only reads them for a list (ms). */
const ORG_STATEMENT_MS = 30_000;
const READ_STATEMENT_MS = 10_000;

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
    // Longer than the intervals of periodic jobs, which would otherwise open new connections each time. One connection is kept open, so
    // that the process can keep working when other clients use up the server's connections.
    idleTimeoutMillis: options.idleMs ?? 60_000,
    min: 1,
    types: parsers,
  };
  // The server enforces the statement's time limit; this later limit covers a server that no longer responds. Statements are planned once
  // per connection, because planning the longest takes more time than executing it. A plan made while its table was small would keep
  // reading all of it as it grows, until Postgres analyses the table. `select * from projects where project_id = $1`, prepared at 40
  // analysed rows: "Seq Scan" of 20 040 rows later, 248 pages in 3.4 ms; with enable_seqscan=off "Index Scan using projects_pkey", 5 pages
  // in 0.09 ms. Any prepared statement can meet this, so the setting is on the pool: for one statement it takes a transaction and two more
  // round trips. Whole tables are still read where no index serves.
  const planning = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off";
  const orgPool = new Pool({
    ...common,
    verify: asserting("millrace_app"),
    max: options.poolSize,
    options: `-c role=millrace_app -c statement_timeout=${ORG_STATEMENT_MS} ${planning}`,
    query_timeout: ORG_STATEMENT_MS + 2000,
  });
  const systemPool = new Pool({
    ...common,
    verify: asserting("login"),
    max: systemPoolSize(options.poolSize),
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
      const client = await connectWithin(pool);
      refused.delete(pool);
      return client;
    } catch (error) {
      const explained = explainRefusal(error, pools.get(pool) ?? "login", login);
      if (explained instanceof UnsafeSession) refused.add(pool);
      throw explained;
    }
  }

  // The settings that a connection last received: most statements then need no extra round trip.
  const setTo = new WeakMap<PoolClient, string>();

  async function enterOrg(client: PoolClient, orgId: string, limitMs: number): Promise<void> {
    if (!isUuid(orgId)) throw new Error("an organisation id must be a UUID");
    const setting = `${orgId} ${limitMs}`;
    if (setTo.get(client) === setting) return;
    setTo.delete(client);
    const text = "select set_config('millrace.org_id', $1, false), set_config('statement_timeout', $2, false)";
    await client.query({ name: "enter_org", text, values: [orgId, String(limitMs)] });
    setTo.set(client, setting);
  }

  const places = createOrgPlaces(options.poolSize, options.patience);
  const searches = createOrgPlaces(options.poolSize, options.patience);
  const ofCallers = createOrgPlaces(systemPoolSize(options.poolSize), options.patience);

  async function borrowOf<T>(orgId: string, kind: OrgWork, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const limitMs = kind === "work" ? ORG_STATEMENT_MS : READ_STATEMENT_MS;
    return places.hold(orgId, kind, () => borrow(orgPool, (client) => enterOrg(client, orgId, limitMs), work));
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
      client.release(broken ?? isSpoiled(client));
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
    org: (orgId, work) => borrowOf(orgId, "work", plain(work)),
    orgRead: (orgId, work, patient = false) => borrowOf(orgId, patient ? "patient read" : "read", plain(work)),
    orgTransaction: (orgId, work) => borrowOf(orgId, "work", inTransaction(work)),
    search: (orgId, work) => searches.hold(orgId, "work", () => borrow(searchPool, null, plain(work))),
    system(work, caller) {
      const use = () => borrow(systemPool, null, plain(work));
      return caller === undefined ? use() : ofCallers.hold(caller, "work", use);
    },
    systemTransaction: (work) => borrow(systemPool, null, inTransaction(work)),
    listen: (channel, onNotify, onReconnect) => listen(common, channel, onNotify, onReconnect, options.onError),
    async verify() {
      for (const pool of pools.keys()) (await connect(pool)).release();
    },
    async ping() {
      await borrow(systemPool, null, (client) => client.query("select 1"));
      // A pool that holds a connection is ready. A pool whose last session was refused is tried here, because no request tries it before
      // the process is ready again.
      for (const pool of [orgPool, ...refused])
        if (pool.totalCount === 0 || refused.has(pool)) (await connect(pool)).release();
    },
    pools: () => [
      poolStats("organisation", orgPool, places.waiting()),
      poolStats("system", systemPool, ofCallers.waiting()),
      poolStats("search", searchPool, searches.waiting()),
    ],
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

function poolStats(
  pool: PoolStats["pool"],
  { totalCount, idleCount, waitingCount, options }: Pool,
  waiting = 0,
): PoolStats {
  return { pool, open: totalCount, idle: idleCount, limit: options.max, waiting: waitingCount + waiting };
}
