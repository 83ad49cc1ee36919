import type { Pool, PoolClient } from "pg";

/** SQLSTATE that reports that the server, or the role, has no free connection. */
const TOO_MANY_CONNECTIONS = "53300";
/** How long a pool opens no further connection after a refusal (ms). */
const PAUSE_MS = 5000;

const sizes = new WeakMap<Pool, number>();

/**
 * Takes a connection from a pool. If the server has no free connection, the caller waits for one that the pool holds, as if the pool were
 * full; only a pool without any connection throws.
 */
export async function connectWithin(pool: Pool): Promise<PoolClient> {
  for (;;) {
    try {
      return await pool.connect();
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      if (code !== TOO_MANY_CONNECTIONS || pool.totalCount === 0) throw error;
      // Connections that the pool is still opening count, too, so each refusal lowers the limit, at least to the number of open
      // connections.
      limit(pool);
    }
  }
}

/** Limits a pool to the connections that it holds now, for PAUSE_MS. */
function limit(pool: Pool): void {
  const size = sizes.get(pool) ?? pool.options.max;
  const isLimited = sizes.has(pool);
  sizes.set(pool, size);
  pool.options.max = pool.totalCount;
  if (isLimited) return;
  setTimeout(() => {
    sizes.delete(pool);
    pool.options.max = size;
  }, PAUSE_MS).unref();
}
