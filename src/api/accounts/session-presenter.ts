import { z } from "zod";
import { PROJECT_ROLES, ROLES } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import type { Organisation } from "../../stores/accounts/organisations.ts";
import type { ListedSession } from "../../stores/accounts/sessions.ts";
import type { User } from "../../stores/accounts/users.ts";
import { asDeclared } from "../http/as-declared.ts";

export const sessionSchema = z
  .object({
    session_id: z.uuid(),
    kind: z
      .enum(["console", "token"])
      .describe("`console`: a console session; `token`: a client that signed in at `/token` and renews its tokens."),
    user_id: z.uuid(),
    email: z.string(),
    current: z.boolean().describe("Whether this request uses the session."),
    user_agent: z.string().describe("The browser or client, as stated in its `User-Agent` header."),
    address: z.string().describe("IP address that opened the session."),
    created_at: z.iso.datetime(),
    last_seen_at: z.iso
      .datetime()
      .describe("Time of the last request, accurate to the minute. For tokens, the time of the last renewal."),
    expires_at: z.iso.datetime().describe("When the session expires if it is not used again."),
    provider_id: z
      .string()
      .nullable()
      .describe("Identity provider that the person signed in with; `null` for passwords, links and clients."),
  })
  .meta({ id: "Session" });

export function presentSession(session: ListedSession, current: string | undefined): z.infer<typeof sessionSchema> {
  return asDeclared(sessionSchema, { ...session, current: session.session_id === current });
}

export const meSchema = z
  .object({
    type: z.enum(["user", "org_api_key"]),
    id: z.uuid().describe("ID of the user or API key."),
    role: z.enum(ROLES).describe("Role of the user or key; a secret key has the rights of an admin."),
    project_roles: z
      .array(z.object({ project_id: z.uuid(), role: z.enum(PROJECT_ROLES) }))
      .describe("The user's roles in projects."),
    user: z.object({ user_id: z.uuid(), email: z.string() }).nullable().describe("The user; `null` for an API key."),
    organisation: z.object({ org_id: z.uuid(), name: z.string() }),
    session_id: z.uuid().nullable().describe("The console session of the user; `null` without one."),
  })
  .meta({ id: "Me" });

export function presentMe(
  { type, id, role, grants = {}, session_id }: Principal,
  user: User | null,
  { org_id, name }: Organisation,
): z.infer<typeof meSchema> {
  const sessionUser = user && { user_id: user.user_id, email: user.email };
  const project_roles = Object.entries(grants).map(([project_id, granted]) => ({ project_id, role: granted }));
  const organisation = { org_id, name };
  return { type, id, role, project_roles, user: sessionUser, organisation, session_id: session_id ?? null };
}
