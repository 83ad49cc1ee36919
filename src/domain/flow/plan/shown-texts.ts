import { mayMask } from "../redact.ts";
import type { RedactPath } from "../redact.ts";
import type { Plan } from "./types.ts";

/**
 * Whether a node's text may be shown while it is being written. It may not if `settings.redact` may mask it, under its own path or that of
 * a value that contains it. `planPath` consists of IDs: "map-0/llm-0".
 */
export function mayShowText(plan: Plan, redact: readonly RedactPath[], planPath: string): boolean {
  if (redact.length === 0) return true;
  const ids = planPath.split("/");
  const [top = planPath] = ids;
  const last = ids.at(-1) ?? planPath;
  if (mayMask(redact, ["nodes", last, "output", "text"], "text")) return false;
  // Inside a map or loop, the value of the map or loop itself may contain the text.
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
