import { isUuid } from "../domain/uuid.ts";
import { InvalidArgumentError } from "commander";
import type { z } from "zod";
import { timestampAt, timeText } from "../domain/timestamps.ts";
import { CommandFailure } from "./failure.ts";
import { invocation } from "./shell.ts";

// Readers of options and arguments. Commander says which one was refused, and what was given, before their message.

/** Takes what a rule of the API takes. */
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
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };
}

/** `list`: the command that shows such ids. */
export function readId(what: string, list: string): (text: string) => string {
  return (text) => {
    if (isUuid(text)) return text;
    throw new InvalidArgumentError(`Give the id of ${what}, as \`${invocation()} ${list}\` shows it.`);
  };
}

/** A time, in UTC. */
export function readTime(text: string): string {
  const { data: time } = timeText.safeParse(text);
  if (time !== undefined) return time;
  throw new InvalidArgumentError("Give a time with its zone, such as 2030-01-31T00:00:00Z.");
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time, or how long ago it was, in UTC. */
export function readPastTime(text: string): string {
  const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return timestampAt(Date.now() - Number(amount) * (UNITS[unit] ?? 0));
  const { data: time } = timeText.safeParse(text);
  if (time !== undefined) return time;
  throw new InvalidArgumentError(
    "Give a time with its zone, such as 2030-01-31T00:00:00Z, or 12h for twelve hours ago.",
  );
}

/** The text, where requests can be sent to it. `from`: what it was given by. Throws a CommandFailure, which shows no password. */
export function requireAddress(text: string, from: string, example: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw new CommandFailure(`${from} is not a web address: write it as ${example}.`, 2);
  const { username, password } = new URL(text);
  if (username !== "" || password !== "")
    throw new CommandFailure(`${from} has a user or a password in it: write it as ${example}.`, 2);
  return text;
}

/** Adds `node=value` to the pairs that were given before it: one for a node. */
export function collectPairs(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const [name, value] = readPair(text);
  if (Object.hasOwn(before, name)) throw new CommandFailure(`${name} is given twice.`, 2);
  return { ...before, [name]: value };
}

/** Adds `node=path` to the pairs that were given before it: any number for a node. */
export function collectPaths(text: string, before: readonly (readonly [string, string])[]): [string, string][] {
  return [...before.map(([name, path]): [string, string] => [name, path]), readPair(text)];
}

function readPair(text: string): [string, string] {
  const [, name, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new CommandFailure(`Write node=value, not ${text}.`, 2);
  return [name, value];
}
