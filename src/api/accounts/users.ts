import { z } from "zod";
import { emailAddress, userPassword } from "../../domain/accounts/accounts.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem, notFound, required } from "../../domain/errors.ts";
import { isUniqueViolation, type Db } from "../../stores/db.ts";
import { revokeKeysOfUser } from "../../stores/accounts/api-keys.ts";
import { endSignInsOfUser } from "../../services/accounts/sessions.ts";
import {
  USERS_EMAIL_KEY,
  USER_ROLES,
  deleteUser,
  findUser,
  insertUser,
  listUsers,
  lockUsers,
  updateUser,
  type User,
} from "../../stores/accounts/users.ts";
import { changeLocked } from "../../services/change.ts";
import { ETAG, asCreated, contentTag, ifMatchHeaders, requireMatch, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linkTo } from "../http/operation.ts";
import type { HandlerDeps } from "../deps.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";

const userSchema = named("User", {
  user_id: z.uuid(),
  email: z.string(),
  role: z
    .enum(USER_ROLES)
    .describe(
      "`member`: only what project roles allow. `viewer`: can read. `editor`: can read, write and run. `admin`: can also manage keys and users.",
    ),
  disabled: z.boolean().describe("Whether the user is disabled and cannot sign in."),
  created_at: z.iso.datetime(),
});

const presentUser = (user: User) => asDeclared(userSchema, { ...user, disabled: user.disabled_at !== null });

const params = z.object({ user_id: pathId("user") });
const role = z.enum(USER_ROLES);

const createBody = namedStrict("UserCreate", { email: emailAddress, password: userPassword, role });
const changeBody = namedStrict("UserChange", {
  role: role.optional(),
  password: userPassword.optional(),
  disabled: z.boolean().optional(),
});

const toResponse = (user: User) => {
  const body = presentUser(user);
  return tagged(body, contentTag(body));
};

async function newHash(
  { db, signIn }: HandlerDeps,
  { org_id }: Principal,
  userId: string,
  password: string,
): Promise<string> {
  const user = required(await db.org(org_id, (connection) => findUser(connection, userId)), "user");
  return signIn.hash(user.email, password, org_id);
}

const define = operationsOf({ tag: "Users", auth: "secret", role: "admin" });

/** `/v2/users`: users who can sign in at `/token`. For admins. */
export const userOperations = [
  define({
    id: "createUser",
    route: "POST /v2/users",
    summary: "Create a user",
    description:
      "Creates a user, who can immediately sign in with this email address and password. An address is unique in the organisation.",
    body: createBody,
    idempotent: true,
    confidential: true,
    problems: ["name_taken"],
    examples: { editor: { email: "ada@example.com", password: "a long passphrase", role: "editor" } },
    success: { 201: created("The user.", userSchema, { get: linkTo("getUser", ["user_id"]) }, ETAG) },
    async handler({ body, principal, newId, audit }, { signIn, db }) {
      const user = {
        user_id: newId(),
        org_id: principal.org_id,
        email: body.email,
        role: body.role,
        password_hash: await signIn.hash(body.email, body.password, principal.org_id),
      };
      try {
        const row = await db.orgTransaction(principal.org_id, async (connection) => {
          const created = await insertUser(connection, user);
          const target = { type: "user", id: created.user_id };
          await audit(connection, { target, after: presentUser(created), secrets: ["password"] });
          return created;
        });
        return asCreated(toResponse(row), `/v2/users/${row.user_id}`);
      } catch (error) {
        if (isUniqueViolation(error, USERS_EMAIL_KEY))
          throw new Problem("name_taken", "The organisation already has a user with this e-mail address.");
        throw error;
      }
    },
  }),
  define({
    id: "listUsers",
    route: "GET /v2/users",
    summary: "List users",
    description: "Lists users, newest first. Disabled users are included.",
    query: listQuery,
    success: { 200: { description: "A page of users.", schema: pageOf(userSchema) } },
    async handler({ query, principal }, { db }) {
      return listPage("users", principal.org_id, query, {
        fetch: (keyset) => db.org(principal.org_id, (connection) => listUsers(connection, keyset)),
        idOf: (user) => user.user_id,
        present: presentUser,
      });
    },
  }),
  define({
    id: "getUser",
    route: "GET /v2/users/{user_id}",
    summary: "Get a user",
    description: "Returns the user with the role and whether the user is disabled.",
    params,
    success: { 200: { description: "The user.", schema: userSchema, headers: ETAG } },
    async handler({ params: { user_id }, principal }, { db }) {
      const user = required(await db.org(principal.org_id, (connection) => findUser(connection, user_id)), "user");
      return toResponse(user);
    },
  }),
  define({
    id: "changeUser",
    route: "PATCH /v2/users/{user_id}",
    summary: "Change, disable or enable a user",
    description:
      "Changes a user's role or password, or disables or enables the user. A new password and disabling end all sessions of the user. Disabling a user, or any role but `admin`, revokes every API key the user created, directly or with one of those keys. The last admin cannot be demoted or disabled.",
    params,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: { promote: { role: "admin" }, disable: { disabled: true } },
    problems: ["conflict"],
    success: { 200: { description: "The updated user.", schema: userSchema, headers: ETAG } },
    async handler({ params: { user_id }, headers, body, principal, audit }, deps) {
      const { db, credentials } = deps;
      const password_hash =
        body.password === undefined ? undefined : await newHash(deps, principal, user_id, body.password);
      const { user, keys } = await changeLocked(db, principal.org_id, {
        lock: (connection) => lock(connection, user_id),
        requireMatch: ({ user: found }) => requireMatch(headers["if-match"], contentTag(presentUser(found))),
        audited: {
          audit,
          target: { type: "user", id: user_id },
          view: ({ user: found }) => presentUser(found),
          secrets: body.password === undefined ? [] : ["password"],
        },
        async write(connection, { user: found, others }) {
          const staysAdmin = (body.role ?? found.role) === "admin" && !(body.disabled ?? found.disabled_at !== null);
          if (!staysAdmin) requireOtherAdmin(found, others);
          if (password_hash !== undefined || body.disabled === true) {
            await endSignInsOfUser(connection, user_id);
          }
          const change = { role: body.role, password_hash, disabled: body.disabled };
          return {
            // Only admins create keys, and each key can do what an admin can, so a lower role revokes them.
            keys: staysAdmin ? [] : await revokeKeysOfUser(connection, user_id),
            user: await updateUser(connection, user_id, change),
          };
        },
      });
      if (!user) throw notFound("user");
      for (const id of [user.user_id, ...keys]) credentials.forget(id);
      return toResponse(user);
    },
  }),
  define({
    id: "deleteUser",
    route: "DELETE /v2/users/{user_id}",
    summary: "Delete a user",
    description:
      "Deletes a user, who can no longer sign in. Ends all sessions and revokes every API key the user created, directly or with one of those keys. The last admin cannot be deleted.",
    params,
    problems: ["conflict"],
    success: { 204: { description: "Deleted." } },
    async handler({ params: { user_id }, principal, audit }, { db, credentials }) {
      const keys = await db.orgTransaction(principal.org_id, async (connection) => {
        const { user, others } = await lock(connection, user_id);
        requireOtherAdmin(user, others);
        // The creator of a key knows its value; if the key stayed valid, it would outlive the user's access.
        const revoked = await revokeKeysOfUser(connection, user_id);
        await deleteUser(connection, user_id);
        await audit(connection, { target: { type: "user", id: user_id }, before: presentUser(user) });
        return revoked;
      });
      for (const id of [user_id.toLowerCase(), ...keys]) credentials.forget(id);
    },
  }),
];

async function lock(db: Db, userId: string): Promise<{ user: User; others: User[] }> {
  const users = await lockUsers(db);
  const user = users.find((each) => each.user_id === userId.toLowerCase());
  if (!user) throw notFound("user");
  return { user, others: users.filter((each) => each !== user) };
}

/** An organisation without an admin could only be repaired from the command line. */
function requireOtherAdmin(user: User, others: readonly User[]): void {
  const isAdmin = (each: User): boolean => each.role === "admin" && each.disabled_at === null;
  if (isAdmin(user) && !others.some(isAdmin))
    throw new Problem("conflict", "This is the last admin. Make another user admin first.");
}
