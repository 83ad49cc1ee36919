import { parse } from "acorn";

/** A script's syntax error and its line (counted from 1). */
export interface SyntaxFault {
  readonly line: number;
  readonly message: string;
}

/** Finds the first syntax error of a script, in the JavaScript of the sandbox (ES2023, no modules), without executing anything. */
export function syntaxFaultOf(source: string): SyntaxFault | undefined {
  try {
    parse(source, { ecmaVersion: 2023, sourceType: "script", allowHashBang: true });
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return { line: 1, message: "The code is nested too deeply" };
    if (!(error instanceof SyntaxError)) throw error;
    const { loc } = error as SyntaxError & { readonly loc?: { readonly line: number } };
    return { line: loc?.line ?? 1, message: error.message.replace(/ \(\d+:\d+\)$/, "") };
  }
}
