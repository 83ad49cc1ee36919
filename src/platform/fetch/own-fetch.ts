import { portOf } from "./guarded-fetch-connect.ts";
import { createGuardedFetch, type GuardedFetch } from "./guarded-fetch.ts";

/**
 * A guarded fetch for servers whose addresses are configured rather than chosen by a user, so they may be private. It can also reach what
 * every guarded fetch can.
 */
export function createOwnFetch(allow: readonly string[], urls: ReadonlyArray<string | undefined>): GuardedFetch {
  const hosts = urls
    .filter((url) => url !== undefined)
    .map((text) => {
      const url = new URL(text);
      return `${url.hostname}:${portOf(url)}`;
    });
  return createGuardedFetch({ allow: [...allow, ...hosts] });
}
