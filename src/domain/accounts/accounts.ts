import { z } from "zod";

// The rules of what accounts are made of, for the API and the command line alike.

export const organisationName = z.string().trim().min(1).max(200);
export const emailAddress = z.email().max(320);
export const userPassword = z.string().min(8).max(1000);
export const apiKeyName = z.string().trim().min(1).max(200);

/** Whether a key that expires then would never work. */
export function hasExpired(expiresAt: string): boolean {
  return Date.parse(expiresAt) <= Date.now();
}
