import type { Answerer, Person } from "../../domain/runs/assignees.ts";
import { findUser, findUsersByName, type NamedUser } from "../../stores/accounts/users.ts";
import type { Db } from "../../stores/db.ts";

/** A user of the organisation; null if there is none with this ID. */
export async function findPerson(db: Db, userId: string): Promise<Person | null> {
  return findUser(db, userId);
}

/** The owner of the credential; null for an API key, and for a visitor of a page. */
export async function personOf(db: Db, { type, id, role }: Answerer): Promise<Person | null> {
  const user = type === "user" ? await findUser(db, id) : null;
  return user && { user_id: user.user_id, email: user.email, role };
}

/** Users by ID and by e-mail address, both in lower case. */
export async function peopleByName(
  db: Db,
  names: readonly string[],
  projectId: string | undefined,
): Promise<ReadonlyMap<string, NamedUser>> {
  const users = names.length === 0 ? [] : await findUsersByName(db, names, projectId ?? null);
  return new Map(
    users.flatMap((user) => [user.user_id, user.email.toLowerCase()].map((name) => [name, user] as const)),
  );
}
