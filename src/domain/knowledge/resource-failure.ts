/** Thrown where a resource cannot be indexed for a reason of its own; code and message are for its owner. */
export class ResourceFailure extends Error {
  readonly code: string;
  /** Whether trying again soon could help. */
  readonly retryable: boolean;

  constructor(code: string, message: string, options: { cause?: unknown; retryable?: boolean } = {}) {
    super(message.toWellFormed(), options.cause === undefined ? {} : { cause: options.cause });
    this.name = "ResourceFailure";
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
