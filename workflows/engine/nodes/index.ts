import type { NodeKind } from "../../../src/domain/flow/kinds.ts";
import { evaluate, isPassThrough, loadPassThroughValue } from "../values.ts";
import { executeActivity } from "./activity.ts";
import { executeAgent } from "./agent.ts";
import { executeApproval } from "./approval.ts";
import { executeDelay } from "./delay.ts";
import type { Executor } from "./executor.ts";
import { executeFiles } from "./files.ts";
import { executeLoop } from "./loop.ts";
import { executeMap } from "./map.ts";
import { executeRouter } from "./router.ts";
import { executeSubflow } from "./subflow.ts";

/** For node types that are only evaluated, if the node cannot settle synchronously. */
const executeEvaluation: Executor = async (frame, node) =>
  isPassThrough(node) ? { value: await loadPassThroughValue(frame, node) } : evaluate(frame, node, "node");

/** The executor of each node type, for nodes that cannot settle synchronously. A new type does not compile without an entry. */
const EXECUTORS: { readonly [Kind in NodeKind]: Executor<Kind> } = {
  input: executeEvaluation,
  string: executeEvaluation,
  output: executeEvaluation,
  template: executeEvaluation,
  set: executeEvaluation,
  condition: executeEvaluation,
  guard: executeEvaluation,
  files: executeFiles,
  url: executeActivity,
  audio: executeActivity,
  image: executeActivity,
  http: executeActivity,
  code: executeActivity,
  knowledge: executeActivity,
  llm: (frame, node, interpreter) =>
    (node.execution === "workflow" ? executeAgent : executeActivity)(frame, node, interpreter),
  router: executeRouter,
  action: executeActivity,
  map: executeMap,
  loop: executeLoop,
  subflow: executeSubflow,
  delay: executeDelay,
  approval: executeApproval,
};

export const executeNode: Executor = (frame, node, interpreter) =>
  // TypeScript cannot infer that the entry and the node have the same type.
  (EXECUTORS[node.type] as Executor)(frame, node, interpreter);
