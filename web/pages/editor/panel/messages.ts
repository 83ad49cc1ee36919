import type { FlowProblem } from "../../../api/flows.ts";
import type { FlowDocument } from "../../../flow/document.ts";
import { pathKey, type FormErrors } from "../../../parts/schema-form/schema.ts";
import { pathBelowNode } from "../marks.ts";

/** The problems of a node by the field that they are about. */
export interface Messages {
  readonly errors: FormErrors;
  readonly warnings: FormErrors;
  /** Problems of the node as a whole. */
  readonly others: ReadonlyArray<{ readonly severity: "error" | "warning"; readonly text: string }>;
}

export function messagesOf(document: FlowDocument, problems: readonly FlowProblem[], nodePath: string): Messages {
  const errors = new Map<string, string[]>();
  const warnings = new Map<string, string[]>();
  const others: Array<Messages["others"][number]> = [];
  for (const problem of problems) {
    if (problem.node_path !== nodePath) continue;
    const { severity, message, hint } = problem;
    const text = hint === null ? withStop(message) : `${withStop(message)} ${withStop(hint)}`;
    const path = pathBelowNode(document, problem);
    if (path.length === 0) others.push({ severity, text });
    else {
      const found = severity === "error" ? errors : warnings;
      const key = pathKey(path);
      found.set(key, [...(found.get(key) ?? []), text]);
    }
  }
  return { errors, warnings, others };
}

const withStop = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);
