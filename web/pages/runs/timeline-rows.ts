import type { NodeRun } from "../../api/runs.ts";
import { lookOf } from "../../parts/status.tsx";
import type { TimelineBar, TimelineRow } from "../../parts/timeline/rows.ts";
import { itemsOf, stateOf, timesOf, type NodeTree, type TreeNode } from "./node-tree.ts";

const WAITING: readonly string[] = ["approval", "delay", "subflow"];

/** The rows of the timeline; a folded node is one row. */
export function timelineRows(tree: NodeTree, open: ReadonlySet<string>): TimelineRow[] {
  const rows: TimelineRow[] = [];
  const add = (node: TreeNode, depth: number): void => {
    const isOpen = open.has(node.path);
    const { path, label, id, children } = node;
    rows.push({
      id: path,
      label,
      second: id,
      depth,
      state: stateOf(node),
      note: noteOf(node),
      open: children.length === 0 ? null : isOpen,
      bars: barsOf(node),
    });
    if (isOpen) for (const child of children) add(child, depth + 1);
  };
  for (const root of tree.roots) add(root, 0);
  return rows;
}

/** How many items are finished, how many attempts were made, or that the node was reused. */
export function noteOf(node: TreeNode): string | null {
  const { run } = node;
  if (run?.reused === true) return "reused";
  const items = itemsOf(node);
  if (items) return `${items.done.toLocaleString()} / ${items.all.toLocaleString()}`;
  return run && run.attempts > 1 ? `${run.attempts} attempts` : null;
}

function barsOf(node: TreeNode): TimelineBar[] {
  const { run } = node;
  if (run && run.attempt_log.length > 0) return attemptBars(run);
  const { from, to } = timesOf(node);
  if (from === null) return [];
  const state = stateOf(node);
  const waits = run !== null && (WAITING.includes(run.type) || run.state === "PAUSED");
  const { word, tone } = lookOf(state);
  return [{ from, to, kind: waits ? "wait" : "work", tone, title: waits ? "Waiting" : word }];
}

/** One bar per attempt, with the wait for the next attempt between them. */
function attemptBars({ attempt_log, state, finished_at }: NodeRun): TimelineBar[] {
  return attempt_log.flatMap((attempt, index): TimelineBar[] => {
    const { started_at, ended_at, error, next_attempt_at } = attempt;
    if (started_at === null) return [];
    const next = attempt_log[index + 1]?.started_at ?? null;
    const isLast = index === attempt_log.length - 1;
    const to = ended_at ?? (isLast ? (error ? started_at : finished_at) : (next ?? next_attempt_at));
    const work: TimelineBar = {
      from: started_at,
      to,
      kind: "work",
      tone: lookOf(error ? "FAILED" : state).tone,
      title: `Attempt ${attempt.attempt}${error ? `: ${error.code}` : ""}`,
    };
    const until = next ?? (finished_at === null ? next_attempt_at : null);
    if (error === null || to === null || until === null || Date.parse(until) <= Date.parse(to)) return [work];
    return [work, { from: to, to: until, kind: "pause", tone: "quiet", title: "Waiting for the next attempt" }];
  });
}
