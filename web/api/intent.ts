import { useCallback, useState } from "react";

/** Returns the Idempotency-Key for a request body. */
export type Intent = (body: unknown) => string;

/**
 * Idempotency keys for a dialog. All attempts to send the same body share one key, so that it takes effect once; a
 * corrected body gets a new key, because the API rejects a different body under an earlier key.
 */
export function useIntent(): Intent {
  const [keys] = useState(() => new Map<string, string>());
  return useCallback(
    (body) => {
      const meant = JSON.stringify(body);
      const key = keys.get(meant) ?? newKey();
      keys.set(meant, key);
      return key;
    },
    [keys],
  );
}

/** `crypto.randomUUID` is missing if the console is opened over plain HTTP on a host other than localhost. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
