import { z } from "zod";
import { COMMON_PASSWORDS } from "./common-passwords.ts";

// Validation rules of accounts, shared by the API and the command line.

export const organisationName = z.string().trim().min(1).max(200);
export const emailAddress = z.email().max(320);
export const userPassword = z
  .string()
  .min(12)
  .max(1000)
  .refine(
    (text) => !isGuessedFirst(text),
    "Too common: attackers try it among the first. Take a passphrase of some words.",
  )
  .describe("12 characters or more, such as a passphrase. The commonest are refused.");
export const apiKeyName = z.string().trim().min(1).max(200);

/** Fewer different characters make a repetition, such as abababababab. */
const LEAST_CHARACTERS = 5;

/** The form that is hashed is compared, so that full-width letters are no way around the list. */
function isGuessedFirst(password: string): boolean {
  const text = password.normalize("NFKC").toLowerCase();
  return COMMON_PASSWORDS.has(text) || new Set(text).size < LEAST_CHARACTERS;
}

/** When a new key ends that names no time: a public one never, a secret one after so many days; 0 is never. */
export function defaultExpiry(kind: "public" | "secret", secretKeyDays: number): string | null {
  if (kind === "public" || secretKeyDays === 0) return null;
  return new Date(Date.now() + secretKeyDays * 86_400_000).toISOString();
}

/** Whether an expiry time is already past. */
export function hasExpired(expiresAt: string): boolean {
  return Date.parse(expiresAt) <= Date.now();
}
