import { mayMask } from "../redact.ts";
import type { RedactPath } from "../redact.ts";
import type { Plan } from "./types.ts";

/**
 * Whether the text of a node may be shown while it is being written. It may not if `settings.redact` may mask it,
 * under its own name or the name of a value it goes into. `planPath` is made of ids: "map-0/llm-0".
 */
export function mayShowText(plan: Plan, redact: readonly RedactPath[], planPath: string): boolean {
  if (redact.length === 0) return true;
  const ids = planPath.split("/");
  const [top = planPath] = ids;
  const last = ids.at(-1) ?? planPath;
  if (mayMask(redact, ["nodes", last, "output", "text"], "text")) return false;
  // A value computed from the text inside a map or a loop is a part of that node's value.
  const isInside = ids.length > 1;
  return below(plan, top)
    .filter((id) => isInside || id !== top)
    .flatMap((id) => [
      ["nodes", id, "output"],
      ["outputs", id],
    ])
    .every((place) => !mayMask(redact, place, isInside ? "value" : "text"));
}

/** A node and all nodes after it. */
function below(plan: Plan, id: string): string[] {
  const found = new Set([id]);
  for (const each of found) for (const { source, target } of plan.edges) if (source === each) found.add(target);
  return [...found];
}
