import { z } from "zod";

// Validation rules of accounts, shared by the API and the command line.

export const organisationName = z.string().trim().min(1).max(200);
export const emailAddress = z.email().max(320);
export const userPassword = z.string().min(8).max(1000);
export const apiKeyName = z.string().trim().min(1).max(200);

/** Whether an expiry time is already past. */
export function hasExpired(expiresAt: string): boolean {
  return Date.parse(expiresAt) <= Date.now();
}
