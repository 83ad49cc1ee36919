import { InvalidArgumentError, Option, type Command, type OptionValues } from "@commander-js/extra-typings";
import { secretKeyDays } from "../../config.ts";
import {
  apiKeyName,
  defaultExpiry,
  emailAddress,
  hasExpired,
  organisationName,
  userPassword,
} from "../../domain/accounts/accounts.ts";
import { API_KEY_KINDS, listApiKeys, type ApiKey, type ApiKeyKind } from "../../stores/accounts/api-keys.ts";
import type { Database } from "../../stores/db.ts";
import { findOrganisation, listOrganisations } from "../../stores/accounts/organisations.ts";
import { USER_ROLES } from "../../stores/accounts/users.ts";
import { keyLimits, type KeyLimits } from "../../domain/accounts/key-limits.ts";
import { unknownProjects } from "../../services/projects/projects.ts";
import { createKey, createOrganisation, createUser, revokeKey } from "../accounts.ts";
import { CommandFailure } from "../failure.ts";
import { showTable } from "../listing.ts";
import { show, withDatabase } from "../options.ts";
import { readBy, readId, readTime } from "../values.ts";
import { invocation } from "../shell.ts";

const NEVER = "never";

/** `orgs`, `users` and `keys`: they use the database directly, so that the first key can be created. */
export function addAccountCommands(program: Command): void {
  const orgs = program.command("orgs").description("manage organisations");
  const newOrganisation = orgs
    .command("create")
    .description("create an organisation")
    .argument("<name>", "1 to 200 characters", readBy(organisationName, "Pass a name of 1 to 200 characters."))
    .option("--same-name", "allow a second organisation with this name");
  withDatabase(newOrganisation, async (database, options, name) => {
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

  const users = program.command("users").description("manage users of an organisation");
  const newUser = users
    .command("create")
    .description("create a user")
    .argument(
      "<email>",
      "e-mail address with which the user signs in",
      readBy(emailAddress, "Pass an e-mail address such as ada@example.com."),
    );
  withDatabase(
    withOrganisation(newUser)
      .addOption(
        new Option("--role <role>", "role of the user in the organisation").choices(USER_ROLES).default("viewer"),
      )
      .option("--password <password>", "at least 12 characters; generated and printed if omitted", readPassword),
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

  const keys = program.command("keys").description("manage API keys of an organisation");
  withDatabase(
    withLimits(withOrganisation(keys.command("create").description("create an API key; its value is shown only once")))
      .addOption(
        new Option("--kind <kind>", "secret, or public: only to run flows and upload documents")
          .choices(API_KEY_KINDS)
          .default("secret"),
      )
      .option(
        "--name <name>",
        "name of the key, e.g. what it is used for",
        readBy(apiKeyName, "Pass a name of 1 to 200 characters."),
        "command line",
      )
      .option("--expires-at <time>", "RFC 3339 or `never`; if omitted, MILLRACE_SECRET_KEY_DAYS decides", readExpiry),
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
  withDatabase(
    withOrganisation(keys.command("list").description("list active API keys")),
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
    .argument("<key_id>", "key ID", readId("a key", "keys list"));
  withDatabase(withOrganisation(keyToRevoke), async (database, options, keyId) => {
    const org_id = await organisationOf(database, options.org);
    if (!(await revokeKey(database, org_id, keyId)))
      throw new CommandFailure(`No active key ${keyId} in organisation ${org_id}.`);
    show(options.json, { key_id: keyId, revoked: true }, () => [`key ${keyId} is revoked`]);
  });
}

export function withOrganisation<Args extends unknown[], Opts extends OptionValues>(command: Command<Args, Opts>) {
  const read = readId("an organisation", "orgs list");
  return command.option("--org <org_id>", "organisation ID; required if there are several", read);
}

export async function organisationOf(database: Database, given: string | undefined): Promise<string> {
  if (given !== undefined) {
    const found = await database.system((db) => findOrganisation(db, given));
    if (found === null) throw new CommandFailure(`Organisation ${given} not found.`);
    return given;
  }
  const [only, ...others] = await database.system(listOrganisations);
  if (only === undefined)
    throw new CommandFailure(`There is no organisation yet: create one with ${invocation()} orgs create <name>.`);
  if (others.length > 0)
    throw new CommandFailure(
      `There are several organisations: choose one with --org (list them with ${invocation()} orgs list).`,
      2,
    );
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
    "--password: pass 12 to 1000 characters that are not a common password, or omit it to have one generated.",
    2,
  );
}

/** Throws a CommandFailure if the setting is unusable. */
function usualExpiry(kind: ApiKeyKind): string | null {
  const days = secretKeyDays.safeParse(process.env["MILLRACE_SECRET_KEY_DAYS"] || undefined);
  if (!days.success) throw new CommandFailure("MILLRACE_SECRET_KEY_DAYS is not valid: set it to a number of days.", 2);
  return defaultExpiry(kind, days.data);
}

function readExpiry(text: string): string {
  if (text === NEVER) return text;
  const time = readTime(text);
  if (hasExpired(time)) throw new InvalidArgumentError("Pass a time in the future.");
  return time;
}

/** Options of `keys create` in addition to kind, name and expiry. */
interface LimitOptions {
  readonly scopes?: readonly string[];
  readonly readOnly?: true;
  readonly projects?: readonly string[];
  readonly allowedOrigins?: readonly string[];
  readonly allowedAddresses?: readonly string[];
}

/** Adds the options for restricted keys; lists are comma-separated. */
function withLimits<Args extends unknown[], Opts extends OptionValues>(command: Command<Args, Opts>) {
  return command
    .option("--scopes <list>", "allow only these operations, e.g. runs:read,knowledge:*", readList("scopes"))
    .option("--read-only", "allow only operations that change nothing")
    .option("--projects <list>", "allow only requests about these projects", readList("projects"))
    .option("--allowed-origins <list>", "allow only web pages of these origins", readList("allowed_origins"))
    .option("--allowed-addresses <list>", "allow only these IP addresses and networks", readList("allowed_addresses"));
}

/** The restrictions that the options set. Throws a CommandFailure for a project that does not exist in the organisation. */
async function limitsFrom(database: Database, orgId: string, options: LimitOptions): Promise<Partial<KeyLimits>> {
  const { scopes, projects, allowedOrigins, allowedAddresses } = options;
  const [at] = projects ? await unknownProjects(database, orgId, projects) : [];
  if (at !== undefined) throw new CommandFailure(`Project ${projects?.[at]} not found in organisation ${orgId}.`);
  return {
    ...(scopes && { scopes }),
    read_only: options.readOnly ?? false,
    ...(projects && { projects }),
    ...(allowedOrigins && { allowed_origins: allowedOrigins }),
    ...(allowedAddresses && { allowed_addresses: allowedAddresses }),
  };
}

function readList(name: Exclude<keyof typeof keyLimits, "read_only">): (text: string) => readonly string[] {
  return (text) => {
    const read = keyLimits[name].safeParse(text.split(",").map((each) => each.trim()));
    if (read.success) return read.data ?? [];
    const [issue] = read.error.issues;
    throw new InvalidArgumentError(issue?.message ?? "Pass a list separated by commas.");
  };
}
