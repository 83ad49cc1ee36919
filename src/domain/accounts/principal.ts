import type { KeyLimits } from "./key-limits.ts";

/** What a user may do; each role includes the ones before it. */
export const ROLES = ["viewer", "editor", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** The authenticated caller. A secret key acts with the rights of an admin; a public key may only use the operations open to it. */
export interface Principal {
  readonly org_id: string;
  readonly type: "org_api_key" | "user";
  /** Id of the API key or of the user. */
  readonly id: string;
  readonly access: "public" | "secret";
  readonly role: Role;
  /** The session of a user who is signed in to the console. */
  readonly session_id?: string;
  /** Of a key that may do less than others of its kind. */
  readonly limits?: KeyLimits;
}

/** Whether the caller may see credentials that others have written into flows, addresses and settings. */
export function seesSecrets({ access, role }: Principal): boolean {
  return access === "secret" && roleAllows(role, "editor");
}

/** The caller with the rights of a viewer: to it the API shows what anybody in the organisation may see. */
export function asViewer(principal: Principal): Principal {
  return { ...principal, role: "viewer" };
}

/** Whether `role` includes the rights of `needed`. */
export function roleAllows(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
