import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { parse } from "yaml";
import { CHECKOUT, imageEnvironment } from "./dockerfile.ts";

/** The fields of a service that tests use; the schema defines the others. */
export interface ComposeService {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly container_name?: string;
  readonly restart?: string;
  readonly stop_grace_period?: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly profiles?: readonly string[];
  readonly mem_limit?: string;
  readonly pids_limit?: number;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly env_file?: ReadonlyArray<{ readonly path: string; readonly required: boolean }>;
  readonly healthcheck?: { readonly disable?: boolean; readonly test?: readonly [string, ...string[]] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
}

export const composeText = readFileSync(`${CHECKOUT}/docker-compose.yml`, "utf8");

/** The raw file, without the variables of .env. */
export function rawCompose(): Compose {
  return parse(composeText, { merge: true }) as Compose;
}

/** The file as `docker compose` reads it with this .env. Throws if a required variable is missing. */
export function readCompose(dotenv: string): Compose {
  const variables = parseEnv(dotenv) as Record<string, string>;
  const resolved = (value: unknown): unknown => {
    if (typeof value === "string") return interpolated(value, variables);
    if (Array.isArray(value)) return value.map(resolved);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolved(each)]));
  };
  return resolved(rawCompose()) as Compose;
}

/** The environment of a Millrace process: from the image, then from .env if the service uses it, then from the service. */
export function environmentOf(name: string, dotenv: string): Record<string, string> {
  const { env_file = [], environment } = serviceOf(readCompose(dotenv), name);
  const takes = env_file.some(({ path }) => path === ".env");
  return { ...imageEnvironment(), ...(takes ? (parseEnv(dotenv) as Record<string, string>) : {}), ...environment };
}

export function serviceOf({ services }: Compose, name: string): ComposeService {
  const service = services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}.`);
  return service;
}

/** Replaces `${NAME}`, `${NAME:-otherwise}` and `${NAME:?why}`, also nested; `$$` is a dollar sign. An empty value counts as unset. */
function interpolated(text: string, variables: Readonly<Record<string, string>>): string {
  const at = text.indexOf("$");
  if (at < 0) return text;
  const before = text.slice(0, at);
  if (text[at + 1] === "$") return `${before}$${interpolated(text.slice(at + 2), variables)}`;
  const end = closing(text, at + 1);
  const match = /^(\w+)(?:(:[-?])(.*))?$/s.exec(text.slice(at + 2, end));
  if (match === null) throw new Error(`docker-compose.yml has a variable of another form: ${text}`);
  const [, name = "", operator, rest = ""] = match;
  const set = variables[name] ?? "";
  if (set === "" && operator === ":?") throw new Error(`${name}: ${rest}`);
  const value = set === "" ? interpolated(rest, variables) : set;
  return `${before}${value}${interpolated(text.slice(end + 1), variables)}`;
}

/** Index of the brace that closes the one at `from`. */
function closing(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "{") depth++;
    if (text[at] === "}" && --depth === 0) return at;
  }
  throw new Error(`docker-compose.yml has a variable that does not end: ${text}`);
}
