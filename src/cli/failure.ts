/** Thrown to exit a command with a message. Exit code 1: it failed; 2: wrong usage. */
export class CommandFailure extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
  }
}

/** An error and its causes, a line each, without stacks. */
export function explain(error: unknown): string {
  const lines: string[] = [];
  for (let each = error; each instanceof Error; each = each.cause) lines.push(messageOf(each));
  return lines.join("\n  because: ");
}

/** The message of an error, or of the errors that it is made of, without its causes. */
export function messageOf(error: Error): string {
  if (error.message !== "") return error.message;
  // A connection that was refused at every address of a host.
  if (error instanceof AggregateError) return (error.errors as Error[]).map(messageOf).join("; ");
  return (error as NodeJS.ErrnoException).code ?? error.name;
}
