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
}

/** Whether `role` includes the rights of `needed`. */
export function roleAllows(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
