import { mayMask, type RedactPath } from "../redact.ts";
import { reachable } from "./graph.ts";
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
  return [...reachable([top], (id) => plan.edges.flatMap(({ source, target }) => (source === id ? [target] : [])))]
    .filter((id) => isInside || id !== top)
    .flatMap((id) => [
      ["nodes", id, "output"],
      ["outputs", id],
    ])
    .every((place) => !mayMask(redact, place, isInside ? "value" : "text"));
}
