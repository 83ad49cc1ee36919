import type { Logger } from "../../platform/logging/logger.ts";
import { touchApiKeys } from "../../stores/accounts/api-keys.ts";
import type { Database } from "../../stores/db.ts";

/** A process writes a key's `last_used_at` at most once in this time. */
const WRITE_EVERY_MS = 60_000;
/** How long uses are collected before one write outside of any request. */
const GATHER_MS = 1000;

/** Keeps `last_used_at` of API keys accurate to a minute, with one statement for all keys in use. */
export function createKeyUseRecorder(db: Database, logger: Logger) {
  const written = new Map<string, number>();
  let waiting = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.size === 0) return;
    const uses = [...waiting].map(([key_id, at]) => ({ key_id, at }));
    waiting = new Map();
    await db
      .system((connection) => touchApiKeys(connection, uses))
      .catch((err: unknown) => logger.warn({ err }, "could not record when keys were last used"));
  }

  return {
    note(keyId: string): void {
      const now = Date.now();
      if (now - (written.get(keyId) ?? 0) < WRITE_EVERY_MS) return;
      if (written.size > 10_000) written.clear();
      written.set(keyId, now);
      waiting.set(keyId, new Date(now).toISOString());
      timer ??= setTimeout(() => void flush(), GATHER_MS).unref();
    },
    close: flush,
  };
}
