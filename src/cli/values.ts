import { isUuid } from "../domain/uuid.ts";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { z } from "zod";
import { timestampAt, timeText } from "../domain/timestamps.ts";
import { CommandFailure } from "./failure.ts";
import { invocation } from "./shell.ts";

// Readers of options and arguments. Commander adds the option and its value before their message.

/** Accepts what a rule of the API accepts. */
export function readBy(rule: z.ZodType<string>, expected: string): (text: string) => string {
  return (text) => {
    const read = rule.safeParse(text);
    if (read.success) return read.data;
    throw new InvalidArgumentError(expected);
  };
}

export function readNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Pass a whole number from ${min} to ${max}.`);
  };
}

/** `list` is the command that shows such IDs. */
export function readId(what: string, list: string): (text: string) => string {
  return (text) => {
    if (isUuid(text)) return text;
    throw new InvalidArgumentError(`Pass the ID of ${what} (see \`${invocation()} ${list}\`).`);
  };
}

/** A time, in UTC. */
export function readTime(text: string): string {
  const { data: time } = timeText.safeParse(text);
  if (time !== undefined) return time;
  throw new InvalidArgumentError("Pass a time with its zone, such as 2030-01-31T00:00:00Z.");
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time, or a duration before now, in UTC. */
export function readPastTime(text: string): string {
  const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return timestampAt(Date.now() - Number(amount) * (UNITS[unit] ?? 0));
  const { data: time } = timeText.safeParse(text);
  if (time !== undefined) return time;
  throw new InvalidArgumentError(
    "Pass a time with its zone, such as 2030-01-31T00:00:00Z, or 12h for twelve hours ago.",
  );
}

/** A URL to which requests can be sent. `from` is where it was given. Throws a CommandFailure, which shows no password. */
export function requireAddress(text: string, from: string, example: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw new CommandFailure(`${from} is not a valid URL: write it as ${example}.`, 2);
  const { username, password } = new URL(text);
  if (username !== "" || password !== "")
    throw new CommandFailure(`${from} contains a user name or password: write it as ${example}.`, 2);
  return text;
}

/** Adds `node=value` to the earlier pairs: at most one per node. */
export function collectPairs(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const [name, value] = readPair(text);
  if (Object.hasOwn(before, name)) throw new CommandFailure(`${name} is passed twice.`, 2);
  return { ...before, [name]: value };
}

/** Adds `node=path` to the earlier pairs: any number per node. */
export function collectPaths(text: string, before: readonly (readonly [string, string])[]): [string, string][] {
  return [...before.map(([name, path]): [string, string] => [name, path]), readPair(text)];
}

function readPair(text: string): [string, string] {
  const [, name, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new CommandFailure(`Write node=value instead of ${text}.`, 2);
  return [name, value];
}
