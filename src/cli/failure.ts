import { CommanderError } from "commander";
import { readable } from "./terminal.ts";

/** 1: failure; 2: wrong usage; 3: a completed experiment without gates. */
type ExitCode = 1 | 2 | 3;

/** Thrown to exit a command with a message. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = 1, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
  }
}

/** An error and its causes, one per line, without stacks. */
export function explain(error: unknown): string {
  const lines: string[] = [];
  for (let each = error; each instanceof Error; each = each.cause) lines.push(messageOf(each));
  return lines.join("\n  because: ");
}

/** The message of an error, or of the errors it combines, without its causes. */
export function messageOf(error: Error): string {
  if (error.message !== "") return error.message;
  // A connection that every address of a host refused.
  if (error instanceof AggregateError) return (error.errors as Error[]).map(messageOf).join("; ");
  return (error as NodeJS.ErrnoException).code ?? error.name;
}

/** Reports an error. Returns the exit code. */
export function report(error: unknown): number {
  // Commander has printed the error; it also "fails" after printing help or the version.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof CommandFailure) {
    if (error.message !== "") console.error(readable(error.message));
    return error.exitCode;
  }
  console.error(readable(explain(error)));
  return 1;
}
