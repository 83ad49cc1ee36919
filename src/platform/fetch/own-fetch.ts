import { portOf } from "./guarded-fetch-connect.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import type { GuardedFetch } from "./guarded-fetch.ts";

/**
 * A guarded fetch for services whose addresses are configuration, not something a user chose: they may be private. Beside them
 * it reaches what every guarded fetch may.
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
