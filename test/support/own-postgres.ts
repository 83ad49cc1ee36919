import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startPostgres, type PostgresOptions } from "../../src/dev/postgres.ts";
import { administer } from "./database.ts";

export const MIGRATIONS = fileURLToPath(new URL("../../migrations", import.meta.url));

/** Starts a server for one test, because roles belong to a whole server. `close` deletes it. */
export async function ownPostgres(
  options: Partial<PostgresOptions> = {},
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), "millrace-postgres-"));
  // Under root, Postgres runs as another user, who must be able to traverse this folder.
  chmodSync(dir, 0o711);
  const postgres = await startPostgres({ dir: join(dir, "postgres"), durable: false, ...options });
  return {
    url: postgres.url,
    async close() {
      await postgres.stop();
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * Starts such a server without any Millrace data. Its superuser is admin. The test creates the user and the database
 * millrace, which `url` uses.
 */
export async function bareServer(
  password: string,
  options: Partial<PostgresOptions> = {},
): Promise<{ readonly admin: string; readonly url: string; close(): Promise<void> }> {
  const server = await ownPostgres(options);
  await administer(server.url, "create role admin superuser login password 'sesame'");
  const admin = new URL(as(server.url, "admin", "sesame"));
  admin.pathname = "/postgres";
  await administer(admin.href, "drop database millrace");
  await administer(admin.href, "alter role millrace rename to bootstrap");
  return { admin: admin.href, url: as(server.url, "millrace", password), close: server.close };
}

/** URL of the same database for another user. */
export function as(url: string, user: string, password: string): string {
  const other = new URL(url);
  [other.username, other.password] = [user, password];
  return other.href;
}
