import type { NodeKind } from "../../../src/domain/flow/plan/types.ts";
import { evaluate, passesOn, passOn } from "../values.ts";
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

/** Kinds that are evaluated; here only when they could not be on the spot. */
const executeEvaluation: Executor = async (frame, node) =>
  passesOn(node) ? { value: await passOn(frame, node) } : evaluate(frame, node, "node");

/** How each kind is executed when it does not settle on the spot. Total: a new kind does not compile without. */
export const EXECUTORS: Readonly<Record<NodeKind, Executor>> = {
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
