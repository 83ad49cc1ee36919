import { parse } from "acorn";

/** What is wrong with a script's syntax, and in which line (counted from 1). */
export interface SyntaxFault {
  readonly line: number;
  readonly message: string;
}

/**
 * Finds the first syntax error of a script, in the JavaScript that the sandbox knows (ES2023, no modules). Executes
 * nothing.
 */
export function syntaxFaultOf(source: string): SyntaxFault | undefined {
  try {
    parse(source, { ecmaVersion: 2023, sourceType: "script", allowHashBang: true });
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return { line: 1, message: "It is nested too deeply" };
    if (!(error instanceof SyntaxError)) throw error;
    const { loc } = error as SyntaxError & { readonly loc?: { readonly line: number } };
    return { line: loc?.line ?? 1, message: error.message.replace(/ \(\d+:\d+\)$/, "") };
  }
}
