import type { Command, OptionValues } from "@commander-js/extra-typings";
import { isUuid } from "../domain/uuid.ts";
import { mistakenSettings } from "../config.ts";
import { databaseAddress, type COMMAND_LINE_SETTINGS } from "../config-values.ts";
import { openDatabase, type Database } from "../stores/db.ts";
import { apiClient, type ApiClient } from "./api-client.ts";
import { readDevState, type DevState } from "./dev-state.ts";
import { CommandFailure } from "./failure.ts";
import { invocation } from "./shell.ts";
import { readable } from "./terminal.ts";
import { namingPostgresOfPool } from "./unreachable.ts";
import { requireAddress } from "./values.ts";

export interface ApiOptions {
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
}

/** Adds a command that calls the HTTP API, with the options for that. */
export function apiCommand<Usage extends string>(group: Command, usage: Usage, description: string) {
  return group
    .command(usage)
    .description(description)
    .option("--url <url>", "URL of the API (MILLRACE_URL, else .millrace/dev.json)")
    .option("--key <key>", "API key (MILLRACE_API_KEY, else .millrace/dev.json)")
    .option("--json", "print JSON");
}

/** A client for the API that the options, the environment or the running `npm start` name, in this order. */
export function openApi(options: ApiOptions): { api: ApiClient; dev: DevState | undefined } {
  const dev = readDevState();
  const address = given("--url", options.url, "MILLRACE_URL");
  const url = address === undefined ? dev?.url : requireAddress(address.text, address.from, "http://127.0.0.1:8080");
  if (url === undefined)
    throw new CommandFailure("No server address: pass --url, set MILLRACE_URL, or run `npm start` in this folder.", 2);
  const credential = given("--key", options.key, "MILLRACE_API_KEY");
  // A header can contain no other characters.
  if (credential !== undefined && !/^[!-~]+$/.test(credential.text))
    throw new CommandFailure(`${credential.from} is not an API key: API keys look like mr_sec_..., without spaces.`, 2);
  // The key of a development server is sent only to that server.
  const key = credential?.text ?? (url === dev?.url ? dev?.secret_key : undefined);
  if (key === undefined) throw new CommandFailure("No API key: pass --key or set MILLRACE_API_KEY.", 2);
  return { api: apiClient({ url, key }), dev: url === dev?.url ? dev : undefined };
}

/** An option's value, otherwise that of an environment variable, with the name of its source. An empty variable counts as unset. */
function given(
  option: string,
  value: string | undefined,
  variable: (typeof COMMAND_LINE_SETTINGS)[number] | "DATABASE_URL",
): { readonly from: string; readonly text: string } | undefined {
  if (value !== undefined) return { from: option, text: value };
  const text = process.env[variable] ?? "";
  return text === "" ? undefined : { from: variable, text };
}

/** The organisation that an option, the environment or the running `npm start` names. */
export function organisationOf(option: string | undefined, dev: DevState | undefined): string | undefined {
  const org = given("--org", option, "MILLRACE_ORG_ID");
  if (org !== undefined && !isUuid(org.text))
    throw new CommandFailure(
      `${org.from} is not the ID of an organisation (list them with ${invocation()} orgs list).`,
      2,
    );
  return org?.text ?? dev?.org_id;
}

export interface DatabaseOptions {
  readonly databaseUrl?: string;
  readonly json?: boolean;
}

/** The database that the option, the environment or the running `npm start` names. */
export function databaseUrlOf(options: DatabaseOptions): string {
  const address = given("--database-url", options.databaseUrl, "DATABASE_URL");
  const problem = address && databaseAddress.safeParse(address.text).error?.issues[0]?.message;
  if (problem !== undefined) throw new CommandFailure(`${address?.from} is not valid: ${problem}.`, 2);
  const url = address?.text ?? readDevState()?.database_url;
  if (url === undefined)
    throw new CommandFailure(
      "No database URL: pass --database-url, set DATABASE_URL, or run `npm start` in this folder.",
      2,
    );
  return url;
}

/** Adds the options and the action of a command that uses the database directly; the database is open while the action runs. */
export function withDatabase<Args extends unknown[], Opts extends OptionValues>(
  command: Command<Args, Opts>,
  action: (database: Database, options: DatabaseOptions & Opts, ...args: Args) => Promise<void>,
): void {
  command
    .option("--database-url <url>", "Postgres URL (DATABASE_URL, else .millrace/dev.json)")
    .option("--json", "print JSON")
    .action(async (...passed: unknown[]) => {
      // Commander passes the arguments, the options and the command.
      const options = passed.at(-2) as DatabaseOptions & Opts;
      const url = databaseUrlOf(options);
      const database = openDatabase({ url, poolSize: 2, applicationName: "millrace-cli", onError: () => undefined });
      try {
        await namingPostgresOfPool(url, () => action(database, options, ...(passed.slice(0, -2) as Args)));
      } finally {
        await database.close();
      }
    });
}

/** For commands that use settings of the environment, where a setting with a mistyped name would be ignored silently. */
export function warnOfMistakes(): void {
  for (const each of mistakenSettings()) console.error(each);
}

/** Prints a JSON document for scripts, or lines for people. */
export function show(json: boolean | undefined, value: unknown, lines: () => readonly string[]): void {
  console.log(json === true ? JSON.stringify(value, null, 2) : lines().map(readable).join("\n"));
}

/** Lines of a table with the columns as wide as their content. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const shown = rows.map((row) => row.map(readable));
  const widths = shown.reduce<number[]>(
    (all, row) => row.map((cell, index) => Math.max(all[index] ?? 0, cell.length)),
    [],
  );
  return shown.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** What the index.ts of a capability with several files of commands exports, in the order of `--help`. */
export type AddCommands = ReadonlyArray<(program: Command) => void>;
