import { randomBytes, scryptSync } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { createTokenService } from "../../../src/services/accounts/tokens.ts";
import { insertUser, type User, type UserRole } from "../../../src/stores/accounts/users.ts";
import type { Database } from "../../../src/stores/db.ts";
import { client, type Answer } from "../../support/client.ts";
import type { InProcessApi } from "../in-process.ts";

let made = 0;

/** Sends a request to `/token`. */
export function askToken(api: { readonly url: string }, members: Record<string, string>): Promise<Answer> {
  return client(api).post("/token", new URLSearchParams(members), {
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
}

/** The cheapest parameters that a stored hash may have; the current ones cost half a second of CPU time. */
const CHEAP = { ln: 10, r: 1, p: 1 };

/** Creates a user with a password. The first sign-in replaces the cheap hash by one with the current parameters. */
export async function newUser(
  database: Database,
  { org_id, email, role }: { readonly org_id: string; readonly email: string; readonly role: UserRole },
): Promise<User & { password: string }> {
  const password = randomBytes(15).toString("base64url");
  const salt = randomBytes(16);
  const hash = scryptSync(password, salt, 32, { N: 2 ** CHEAP.ln, r: CHEAP.r, p: CHEAP.p });
  const parameters = `ln=${CHEAP.ln},r=${CHEAP.r},p=${CHEAP.p}`;
  const password_hash = `$scrypt$${parameters}$${salt.toString("base64url")}$${hash.toString("base64url")}`;
  const user = { user_id: uuidv7(), org_id, email, role, password_hash };
  return { ...(await database.org(org_id, (db) => insertUser(db, user))), password };
}

export interface SignedIn {
  readonly user_id: string;
  readonly email: string;
  readonly password: string;
  readonly access: string;
  readonly refresh: string;
}

/** Creates a user with the tokens of a session, without the cost of a sign-in. */
export async function signedInUser(api: Pick<InProcessApi, "db">, org_id: string, role: UserRole): Promise<SignedIn> {
  const email = `${role}-${++made}@example.test`;
  const { user_id, password } = await newUser(api.db, { org_id, email, role });
  const tokens = createTokenService(api.db, () => undefined);
  const pair = await tokens.issue({ org_id, user_id }, { user_agent: "test", address: "127.0.0.1" });
  return { user_id, email, password, access: pair.access_token, refresh: pair.refresh_token };
}
