/** Thrown to end a command with a message for people. Exit code 1: it did not work; 2: it was asked wrongly. */
export class CommandFailure extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
  }
}
