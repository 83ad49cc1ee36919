import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import { secretKeyDays } from "../config.ts";
import {
  apiKeyName,
  defaultExpiry,
  emailAddress,
  hasExpired,
  organisationName,
  userPassword,
} from "../domain/accounts/accounts.ts";
import { API_KEY_KINDS, listApiKeys } from "../stores/accounts/api-keys.ts";
import type { ApiKey, ApiKeyKind } from "../stores/accounts/api-keys.ts";
import type { Database } from "../stores/db.ts";
import { findOrganisation, listOrganisations } from "../stores/accounts/organisations.ts";
import { USER_ROLES } from "../stores/accounts/users.ts";
import type { UserRole } from "../stores/accounts/users.ts";
import { createKey, createOrganisation, createUser, revokeKey } from "./accounts.ts";
import { CommandFailure } from "./failure.ts";
import { limitsFrom, withLimits } from "./key-limit-options.ts";
import type { LimitOptions } from "./key-limit-options.ts";
import { showTable } from "./listing.ts";
import { show, withDatabase } from "./options.ts";
import { readBy, readId, readTime } from "./values.ts";
import { invocation } from "./shell.ts";

const NEVER = "never";

export interface OfOrganisation {
  readonly org?: string;
}

/** `orgs`, `users` and `keys`: they act on the database itself, so that a first key can be made. */
export function addAccountCommands(program: Command): void {
  const orgs = program.command("orgs").description("organisations");
  const newOrganisation = orgs
    .command("create")
    .description("create an organisation")
    .argument("<name>", "1 to 200 characters", readBy(organisationName, "Give a name of 1 to 200 characters."))
    .option("--same-name", "even if there is one of that name");
  withDatabase<{ sameName?: boolean }>(newOrganisation, async (database, options, name) => {
    const made = await createOrganisation(database, name, { newName: options.sameName !== true });
    show(options.json, made, () => [`organisation ${made.org_id} (${made.name})`]);
  });
  withDatabase(orgs.command("list").description("list organisations"), async (database, options) => {
    const all = await database.system(listOrganisations);
    showTable(options.json, all, {
      ORGANISATION: ({ org_id }) => org_id,
      NAME: ({ name }) => name,
      CREATED: ({ created_at }) => created_at,
    });
  });

  const users = program.command("users").description("users of an organisation");
  const newUser = users
    .command("create")
    .description("create a user")
    .argument(
      "<email>",
      "what the user signs in with",
      readBy(emailAddress, "Give an address such as ada@example.com."),
    );
  withDatabase<OfOrganisation & { role: UserRole; password?: string }>(
    withOrganisation(newUser)
      .addOption(new Option("--role <role>", "what the user may do").choices(USER_ROLES).default("viewer"))
      .option("--password <password>", "12 characters or more; made up, and printed, when left out", readPassword),
    async (database, options, email) => {
      const org_id = await organisationOf(database, options.org);
      const { role, password } = options;
      const made = await createUser(database, { org_id, email, role, ...(password === undefined ? {} : { password }) });
      show(options.json, made, () => [
        `user ${made.user_id} (${made.email}, ${made.role})`,
        `password ${made.password}`,
      ]);
    },
  );

  const keys = program.command("keys").description("API keys of an organisation");
  withDatabase<OfOrganisation & LimitOptions & { kind: ApiKeyKind; name: string; expiresAt?: string }>(
    withLimits(withOrganisation(keys.command("create").description("create an API key; its value is shown once")))
      .addOption(new Option("--kind <kind>", "public: run and upload only").choices(API_KEY_KINDS).default("secret"))
      .option(
        "--name <name>",
        "what it is for",
        readBy(apiKeyName, "Give a name of 1 to 200 characters."),
        "command line",
      )
      .option("--expires-at <time>", "RFC 3339 or `never`; left out: MILLRACE_SECRET_KEY_DAYS", readExpiry),
    async (database, options) => {
      const org_id = await organisationOf(database, options.org);
      const { kind, name, expiresAt } = options;
      const made = await createKey(database, {
        org_id,
        kind,
        name,
        ...(await limitsFrom(database, org_id, options)),
        expires_at: expiresAt === undefined ? usualExpiry(kind) : expiresAt === NEVER ? null : expiresAt,
      });
      show(options.json, made, () => [made.value]);
    },
  );
  withDatabase<OfOrganisation>(
    withOrganisation(keys.command("list").description("list the keys that hold")),
    async (database, options) => {
      const all = await allKeys(database, await organisationOf(database, options.org));
      showTable(options.json, all, {
        KEY: ({ key_id }) => key_id,
        KIND: ({ kind }) => kind,
        PREFIX: ({ prefix }) => prefix,
        NAME: ({ name }) => name,
        "LAST USED": ({ last_used_at }) => last_used_at ?? NEVER,
        EXPIRES: ({ expires_at }) => expires_at ?? NEVER,
      });
    },
  );
  const keyToRevoke = keys
    .command("revoke")
    .description("revoke an API key")
    .argument("<key_id>", "which one", readId("a key", "keys list"));
  withDatabase<OfOrganisation>(withOrganisation(keyToRevoke), async (database, options, keyId) => {
    const org_id = await organisationOf(database, options.org);
    if (!(await revokeKey(database, org_id, keyId)))
      throw new CommandFailure(`No key ${keyId} holds in organisation ${org_id}.`);
    show(options.json, { key_id: keyId, revoked: true }, () => [`key ${keyId} is revoked`]);
  });
}

export function withOrganisation(command: Command): Command {
  const read = readId("an organisation", "orgs list");
  return command.option("--org <org_id>", "organisation; needed where there are several", read);
}

export async function organisationOf(database: Database, given: string | undefined): Promise<string> {
  if (given !== undefined) {
    const found = await database.system((db) => findOrganisation(db, given));
    if (found === null) throw new CommandFailure(`There is no organisation ${given}.`);
    return given;
  }
  const [only, ...others] = await database.system(listOrganisations);
  if (only === undefined) throw new CommandFailure(`There is no organisation yet: ${invocation()} orgs create <name>.`);
  if (others.length > 0)
    throw new CommandFailure(`There are several organisations: name one with --org (${invocation()} orgs list).`, 2);
  return only.org_id;
}

async function allKeys(database: Database, orgId: string): Promise<ApiKey[]> {
  const limit = 200;
  const all: ApiKey[] = [];
  for (;;) {
    const page = await database.org(orgId, (db) =>
      listApiKeys(db, { beyond: all.at(-1)?.key_id ?? null, ascending: true, limit }),
    );
    all.push(...page);
    if (page.length < limit) return all;
  }
}

/** Throws a CommandFailure, because Commander's message would show the password. */
function readPassword(text: string): string {
  if (userPassword.safeParse(text).success) return text;
  throw new CommandFailure(
    "--password: give 12 to 1000 characters that are not a common password, or leave it out to have one made up.",
    2,
  );
}

/** Throws a CommandFailure if the setting is unusable. */
function usualExpiry(kind: ApiKeyKind): string | null {
  const days = secretKeyDays.safeParse(process.env["MILLRACE_SECRET_KEY_DAYS"] || undefined);
  if (!days.success) throw new CommandFailure("MILLRACE_SECRET_KEY_DAYS is not usable: give a number of days.", 2);
  return defaultExpiry(kind, days.data);
}

function readExpiry(text: string): string {
  if (text === NEVER) return text;
  const time = readTime(text);
  if (hasExpired(time)) throw new InvalidArgumentError("Give a time that is yet to come: the key would never work.");
  return time;
}
