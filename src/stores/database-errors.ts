import { NoPlace } from "../domain/places.ts";
import { UnsafeSession } from "./session.ts";

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
 * Whether a prepared statement was refused because the columns of its result have changed: processes keep running while a migration adds a
 * column to a table that they select whole. The message is in the server's language.
 */
export function isOutdated(error: unknown): boolean {
  const { code, routine } = error as { readonly code?: unknown; readonly routine?: unknown };
  return code === "0A000" && routine === "RevalidateCachedQuery";
}

/** Whether the error means that Postgres is unreachable, shutting down or unusable (not that a statement failed). */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // Without a free slot (NoPlace) no connection was made either.
  if (error instanceof NoPlace || error instanceof UnsafeSession || isOutdated(error)) return true;
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
