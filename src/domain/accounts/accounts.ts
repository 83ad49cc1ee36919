import { z } from "zod";
import { COMMON_PASSWORDS } from "./common-passwords.ts";

// Validation rules of accounts, shared by the API and the command line.

export const organisationName = z.string().trim().min(1).max(200);
export const emailAddress = z.email().max(320);
const password = (min: number, max: number, advice: string) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine((text) => !isGuessedFirst(text), `This password is too common: attackers try it first. ${advice}`);
export const userPassword = password(12, 1000, "Use a passphrase of several words.").describe(
  "12 characters or more, such as a passphrase. The most common passwords are rejected.",
);
/** Shorter than a user's, because many people share it, and guesses are slow. */
export const pagePassword = password(8, 200, "Use several words.");
export const apiKeyName = z.string().trim().min(1).max(200);

/** A password with fewer distinct characters, such as abababababab, is a repetition. */
const LEAST_CHARACTERS = 5;

/** Compares the normalised form that is hashed, so that full-width letters cannot bypass the list. */
function isGuessedFirst(password: string): boolean {
  const text = password.normalize("NFKC").toLowerCase();
  return COMMON_PASSWORDS.has(text) || new Set(text).size < LEAST_CHARACTERS;
}

/** The expiry of a new key whose request names none: never for a public key; for a secret key after this many days, 0 meaning never. */
export function defaultExpiry(kind: "public" | "secret", secretKeyDays: number): string | null {
  if (kind === "public" || secretKeyDays === 0) return null;
  return new Date(Date.now() + secretKeyDays * 86_400_000).toISOString();
}

/** Whether an expiry time is already past. */
export function hasExpired(expiresAt: string): boolean {
  return Date.parse(expiresAt) <= Date.now();
}
