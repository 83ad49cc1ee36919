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
      .describe("Of the console, or of a client that has signed in at `/token` and renews its tokens."),
    user_id: z.uuid(),
    email: z.string(),
    current: z.boolean().describe("Whether this very request is made with it."),
    user_agent: z.string().describe("The browser or client, as it calls itself."),
    address: z.string().describe("The address it was opened from."),
    created_at: z.iso.datetime(),
    last_seen_at: z.iso.datetime().describe("To the minute; of tokens, when they were last renewed."),
    expires_at: z.iso.datetime().describe("When it expires unless it is used before."),
    provider_id: z
      .string()
      .nullable()
      .describe("The identity provider that the person has signed in by; null of passwords, links and clients."),
  })
  .meta({ id: "Session" });

export function presentSession(session: ListedSession, current: string | undefined): z.infer<typeof sessionSchema> {
  return asDeclared(sessionSchema, { ...session, current: session.session_id === current });
}

export const meSchema = z
  .object({
    type: z.enum(["user", "org_api_key"]),
    id: z.uuid().describe("The id of the user or the API key."),
    role: z.enum(ROLES).describe("What it may do; a secret key may do what an admin may."),
    project_roles: z
      .array(z.object({ project_id: z.uuid(), role: z.enum(PROJECT_ROLES) }))
      .describe("A user's roles in single projects."),
    user: z.object({ user_id: z.uuid(), email: z.string() }).nullable().describe("Null for a key."),
    organisation: z.object({ org_id: z.uuid(), name: z.string() }),
    session_id: z.uuid().nullable().describe("The session of a user who is signed in to the console."),
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
