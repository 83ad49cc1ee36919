import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { Command, OptionValues } from "@commander-js/extra-typings";
import { keyLimits } from "../../domain/accounts/key-limits.ts";
import type { KeyLimits } from "../../domain/accounts/key-limits.ts";
import { unknownProjects } from "../../services/projects/projects.ts";
import type { Database } from "../../stores/db.ts";
import { CommandFailure } from "../failure.ts";

/** Options of `keys create` in addition to kind, name and expiry. */
export interface LimitOptions {
  readonly scopes?: readonly string[];
  readonly readOnly?: true;
  readonly projects?: readonly string[];
  readonly allowedOrigins?: readonly string[];
  readonly allowedAddresses?: readonly string[];
}

/** Adds the options for restricted keys; lists are comma-separated. */
export function withLimits<Args extends unknown[], Opts extends OptionValues>(command: Command<Args, Opts>) {
  return command
    .option("--scopes <list>", "allow only these operations, e.g. runs:read,knowledge:*", readList("scopes"))
    .option("--read-only", "allow only operations that change nothing")
    .option("--projects <list>", "allow only requests about these projects", readList("projects"))
    .option("--allowed-origins <list>", "allow only web pages of these origins", readList("allowed_origins"))
    .option("--allowed-addresses <list>", "allow only these IP addresses and networks", readList("allowed_addresses"));
}

/** The restrictions that the options set. Throws a CommandFailure for a project that does not exist in the organisation. */
export async function limitsFrom(
  database: Database,
  orgId: string,
  options: LimitOptions,
): Promise<Partial<KeyLimits>> {
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
