import { createUser } from "../../../src/cli/accounts.ts";
import type { UserRole } from "../../../src/stores/accounts/users.ts";
import { client } from "../../support/client.ts";
import type { Answer } from "../../support/client.ts";
import type { InProcessApi } from "../in-process.ts";

let made = 0;

/** Asks `/token`. */
export function askToken(api: { readonly url: string }, members: Record<string, string>): Promise<Answer> {
  return client(api).post("/token", new URLSearchParams(members), {
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
}

export interface SignedIn {
  readonly user_id: string;
  readonly email: string;
  readonly password: string;
  readonly access: string;
  readonly refresh: string;
}

/** A new user of the organisation, signed in. */
export async function signedInUser(api: InProcessApi, org_id: string, role: UserRole): Promise<SignedIn> {
  const email = `${role}-${++made}@example.test`;
  const { user_id, password } = await createUser(api.db, { org_id, email, role });
  const { body } = await askToken(api, { grant_type: "password", username: email, password });
  return { user_id, email, password, access: body.access_token, refresh: body.refresh_token };
}
