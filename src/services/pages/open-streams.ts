import { Problem } from "../../domain/errors.ts";
import { createCounts } from "../counts.ts";

/** Most streams that a process keeps open for one visitor, and for one network. */
const OF_VISITOR = 10;
const OF_NETWORK = 200;

/** Bounds the open streams of pages: each costs memory and a check every other second, and a page needs one or two. */
export function createOpenStreams() {
  const open = createCounts<string>();

  async function* counted<T>(keys: readonly string[], stream: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
    for (const key of keys) open.add(key, 1);
    try {
      yield* stream;
    } finally {
      for (const key of keys) open.add(key, -1);
    }
  }

  return {
    /** Passes a stream on, and counts it until it ends. Throws 429 before it begins. */
    hold<T>(visitorId: string, network: string, stream: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
      const keys = [`visitor ${visitorId}`, `network ${network}`] as const;
      if (open.of(keys[0]) >= OF_VISITOR || open.of(keys[1]) >= OF_NETWORK)
        throw new Problem("rate_limited", "Too many open streams. Close other tabs of this page, or retry later.", {
          headers: { "Retry-After": "5" },
        });
      return counted(keys, stream);
    },
  };
}
