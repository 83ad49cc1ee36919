import type { Command } from "commander";
import { apiClient } from "./api-client.ts";
import type { ApiClient } from "./api-client.ts";
import { readDevState } from "./dev-state.ts";
import type { DevState } from "./dev-state.ts";
import { CommandFailure } from "./failure.ts";

export interface ApiOptions {
  readonly url?: string;
  readonly key?: string;
}

/** Adds the options of commands that call the HTTP API. */
export function withApiOptions(command: Command): Command {
  return command
    .option("--url <url>", "address of the API (MILLRACE_URL, else .millrace/dev.json)")
    .option("--key <key>", "API key (MILLRACE_API_KEY, else .millrace/dev.json)")
    .option("--json", "print JSON");
}

/** A client for what the options, the environment or the running `npm start` name, in this order. */
export function openApi(options: ApiOptions): { api: ApiClient; dev: DevState | undefined } {
  const dev = readDevState();
  const url = options.url ?? process.env["MILLRACE_URL"] ?? dev?.url;
  // The key of a development server is not sent anywhere else.
  const key = options.key ?? process.env["MILLRACE_API_KEY"] ?? (url === dev?.url ? dev?.secret_key : undefined);
  if (url === undefined)
    throw new CommandFailure("Which Millrace? Give --url, set MILLRACE_URL, or run `npm start` in this folder.", 2);
  if (key === undefined) throw new CommandFailure("No API key: give --key or set MILLRACE_API_KEY.", 2);
  return { api: apiClient({ url, key }), dev: url === dev?.url ? dev : undefined };
}

/** Prints the JSON document a script wants, or the lines a person wants. */
export function show(json: boolean | undefined, value: unknown, lines: () => readonly string[]): void {
  console.log(json === true ? JSON.stringify(value, null, 2) : lines().join("\n"));
}

/** Lines of a table whose columns are as wide as they need be. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>(
    (all, row) => row.map((cell, index) => Math.max(all[index] ?? 0, cell.length)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Whether the text has the shape of an id. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
