import type { FlowDocument } from "../../flow/document.ts";
import { parseFlow } from "../../flow/parse.ts";

/** The document of a stored text. */
export function readFlow(text: string): FlowDocument {
  const parsed = parseFlow(text);
  if ("fault" in parsed) throw new Error(parsed.fault);
  return parsed.document;
}

/** The document as text, as it is saved. */
export const writeFlow = (document: FlowDocument): string => JSON.stringify(document);

/** The part of the document that decides about its problems, as text: moving a node changes nothing in it. */
export function checkedText(document: FlowDocument): string {
  const { ui: _, ...flow } = document;
  return JSON.stringify(flow);
}

/** The flow of a project that has none yet. */
export const emptyFlow = (name: string): FlowDocument => ({ schema_version: 1, name, nodes: [], edges: [] });
