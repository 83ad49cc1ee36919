import { InvalidArgumentError } from "commander";
import type { Command } from "commander";
import { keyLimits } from "../domain/accounts/key-limits.ts";
import type { KeyLimits } from "../domain/accounts/key-limits.ts";
import { unknownProjects } from "../services/projects/projects.ts";
import type { Database } from "../stores/db.ts";
import { CommandFailure } from "./failure.ts";

/** Options of `keys create` beside kind, name and expiry. */
export interface LimitOptions {
  readonly scopes?: readonly string[];
  readonly readOnly?: true;
  readonly projects?: readonly string[];
  readonly allowedOrigins?: readonly string[];
  readonly allowedAddresses?: readonly string[];
}

/** Adds the options of limits; the lists are separated by commas. */
export function withLimits(command: Command): Command {
  return command
    .option("--scopes <list>", "only these operations, e.g. runs:read,knowledge:*", readList("scopes"))
    .option("--read-only", "only operations that change nothing")
    .option("--projects <list>", "only requests about these projects", readList("projects"))
    .option("--allowed-origins <list>", "only web pages of these origins", readList("allowed_origins"))
    .option("--allowed-addresses <list>", "only these IP addresses and networks", readList("allowed_addresses"));
}

/** The limits that the options set. Throws a CommandFailure for a project that the organisation does not have. */
export async function limitsFrom(
  database: Database,
  orgId: string,
  options: LimitOptions,
): Promise<Partial<KeyLimits>> {
  const { scopes, projects, allowedOrigins, allowedAddresses } = options;
  const [at] = projects ? await unknownProjects(database, orgId, projects) : [];
  if (at !== undefined) throw new CommandFailure(`There is no project ${projects?.[at]} in organisation ${orgId}.`);
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
    throw new InvalidArgumentError(issue?.message ?? "Give a list separated by commas.");
  };
}
