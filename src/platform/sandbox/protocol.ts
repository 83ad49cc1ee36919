/** The request to the sandbox's child. Its body is the script and then the arguments' JSON text. */
export type ScriptRequest = {
  /** Length of the script at the start of the body. */
  readonly source_bytes: number;
  readonly timeout_ms: number;
};

/** Why a script returned no value. The node fails with the same code. */
export type ScriptError = {
  readonly code: "code_failed" | "code_timeout" | "code_memory" | "code_output_invalid" | "value_too_large";
  readonly message: string;
  /** Line of the script, from 1, if it is known. */
  readonly line?: number;
};

/** The outcome of a script; the value's JSON text is the response body. */
export type ScriptReply = {
  readonly error: ScriptError | null;
  readonly logs: readonly string[];
};

/** Limits that do not depend on the call. */
export const SCRIPT_LIMITS = {
  /** Memory that a script may allocate, in addition to its arguments and its result. */
  memoryBytes: 64 * 1024 * 1024,
  /** Enough for JSON nested 8000 deep; more would overflow the host's own stack before QuickJS notices. */
  stackBytes: 256 * 1024,
  /** Most nesting levels of the result, because later code may process it recursively. */
  resultDepth: 500,
  logLines: 200,
  logLineCharacters: 4000,
  logCharacters: 64 * 1024,
  messageCharacters: 2000,
} as const;
