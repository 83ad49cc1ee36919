import { storableText } from "../domain/storable.ts";

/**
 * A value as the text of a jsonb parameter. Postgres cannot hold U+0000 or half of a surrogate pair, so both become U+FFFD. Otherwise a
 * node with such a value could never be recorded, and its run could never complete.
 */
export function jsonb(value: unknown): string {
  return storableText(JSON.stringify(value));
}
