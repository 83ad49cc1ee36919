/** Thrown if a document cannot be indexed for a reason in the document itself; its owner sees code and message. */
export class ResourceFailure extends Error {
  readonly code: string;
  /** Whether a retry could help. */
  readonly retryable: boolean;

  constructor(code: string, message: string, options: { cause?: unknown; retryable?: boolean } = {}) {
    super(message.toWellFormed(), options.cause === undefined ? {} : { cause: options.cause });
    this.name = "ResourceFailure";
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
