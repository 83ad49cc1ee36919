import { parseExactJson } from "../../src/domain/exact-json.ts";
import { isObject } from "./access.ts";
import type { FlowDocument } from "./document.ts";

/** Why a text is no flow, and the line of the first error if the browser tells it. */
export interface ParseFault {
  readonly fault: string;
  readonly line: number | null;
}

/** A flow from a text, or why there is none. Numbers that JSON would change become strings, as in the API. */
export function parseFlow(text: string): { readonly document: FlowDocument } | ParseFault {
  try {
    const value = parseExactJson(text);
    if (!isObject(value)) return { fault: "A flow is a JSON object.", line: null };
    return { document: value as unknown as FlowDocument };
  } catch (error) {
    const line = lineOf(text, error instanceof Error ? error.message : "");
    return { fault: line === null ? "Enter valid JSON." : `Line ${line}: enter valid JSON.`, line };
  }
}

/** Browsers name the line, or the position in the text. */
function lineOf(text: string, message: string): number | null {
  const named = /\bline (\d+)/.exec(message)?.[1];
  if (named !== undefined) return Number(named);
  const position = /\bposition (\d+)/.exec(message)?.[1];
  if (position !== undefined) return text.slice(0, Number(position)).split("\n").length;
  return /end of/i.test(message) ? text.split("\n").length : null;
}
