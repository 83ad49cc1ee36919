/** The result of one check, with advice if it found a problem. */
export interface Finding {
  readonly part: string;
  readonly state: "ok" | "warning" | "problem";
  readonly text: string;
  readonly advice?: string;
}

export const ok = (part: string, text: string): Finding => ({ part, state: "ok", text });
export const warning = (part: string, text: string, advice: string): Finding => ({
  part,
  state: "warning",
  text,
  advice,
});
export const problem = (part: string, text: string, advice: string): Finding => ({
  part,
  state: "problem",
  text,
  advice,
});

/**
 * The message of an error, or of the first cause that has one, since an error for several addresses has no message of
 * its own.
 */
export function reasonOf(error: Error): string {
  const inner = error instanceof AggregateError ? (error.errors[0] as Error | undefined) : undefined;
  return error.message || inner?.message || error.name;
}
