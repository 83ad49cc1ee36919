import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { withIds, type FlowFile } from "../../../../src/cli/flow-file.ts";
import type { FlowDefinition } from "../../../../src/domain/flow/definition/definition.ts";
import { compileFlow } from "../../../../src/domain/flow/plan/compile.ts";
import type { Plan, PlanNode } from "../../../../src/domain/flow/plan/types.ts";

const root = new URL("../../../../", import.meta.url);
const folder = new URL("examples/flows/", root);
const A_BASE = "0197f0a0-0000-7000-8000-000000000000";

const plans = readdirSync(folder).map((file) => {
  const flow = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as FlowFile;
  return compileFlow(withIds(flow, () => A_BASE) as unknown as FlowDefinition);
});

/** The nodes that some path leads to. */
function after(plan: Plan, { id }: PlanNode): PlanNode[] {
  const found = new Set([id]);
  // Every edge leads forward in the order of the nodes.
  for (const { id: source } of plan.nodes)
    if (found.has(source)) for (const edge of plan.edges) if (edge.source === source) found.add(edge.target);
  return plan.nodes.filter((node) => node.id !== id && found.has(node.id));
}

/** Whether the activity of a slow node also executes the next slow node, and otherwise why not. */
function chainOf(plan: Plan, node: PlanNode, isNested: boolean): string {
  if (node.next !== undefined) return "also executes the next slow node";
  const later = after(plan, node).filter(({ execution }) => execution === "activity" || execution === "workflow");
  if (later.length === 0) return "no slow node follows";
  if (isNested) return "is in a map or a loop";
  const [next, ...others] = plan.edges.filter(({ source }) => source === node.id);
  if (next?.source_handle !== "out") return "chooses a branch";
  if (others.length > 0) return "several nodes follow it";
  if (plan.edges.some(({ source, target }) => target === next.target && source !== node.id))
    return "the next node waits for other branches";
  return "the next node is a map, a loop, an approval, a delay, a subflow or an agent";
}

function chainsOf(plan: Plan, isNested = false): string[] {
  return plan.nodes.flatMap((node) => [
    ...(node.execution === "activity" ? [chainOf(plan, node, isNested)] : []),
    ...(node.nested ? chainsOf(node.nested, true) : []),
  ]);
}

it("docs/internals.md says how often the examples have chains, and what stops them", () => {
  const chains = plans.flatMap((plan) => chainsOf(plan));
  const rows = [...new Set(chains)].map((chain) => `| ${chain} | ${chains.filter((each) => each === chain).length} |`);
  const page = readFileSync(new URL("docs/internals.md", root), "utf8");
  const [, table = ""] = /^\| slow node of an example[^\n]*\n\|[^\n]*\n((?:\|[^\n]*\n)*)/m.exec(page) ?? [];
  const written = table.trim().split("\n");
  expect(written.map((row) => row.replaceAll(/ +/g, " ")).toSorted()).toEqual(rows.toSorted());
});
