import type { z } from "zod";
import type { NodeKind } from "../kinds.ts";
import { actionSpec } from "./action.ts";
import { audioSpec } from "./audio.ts";
import { imageSpec } from "./image.ts";
import { approvalSpec } from "./approval.ts";
import { codeSpec } from "./code.ts";
import { conditionSpec } from "./condition.ts";
import { delaySpec } from "./delay.ts";
import { filesSpec } from "./files.ts";
import { guardSpec } from "./guard.ts";
import { httpSpec } from "./http.ts";
import { inputSpec, stringSpec } from "./input.ts";
import { knowledgeSpec } from "./knowledge.ts";
import { llmSpec } from "./llm.ts";
import { routerSpec } from "./router.ts";
import { loopSpec } from "./loop.ts";
import { mapSpec } from "./map.ts";
import { outputSpec } from "./output.ts";
import { setSpec } from "./set.ts";
import type { NodeSpec } from "./spec.ts";
import { subflowSpec } from "./subflow.ts";
import { templateSpec } from "./template.ts";
import { urlSpec } from "./url.ts";

/** The spec of every node type. A new type does not compile until it has all its parts. */
const specs = {
  input: inputSpec,
  string: stringSpec,
  url: urlSpec,
  files: filesSpec,
  audio: audioSpec,
  image: imageSpec,
  output: outputSpec,
  template: templateSpec,
  set: setSpec,
  condition: conditionSpec,
  guard: guardSpec,
  http: httpSpec,
  code: codeSpec,
  knowledge: knowledgeSpec,
  llm: llmSpec,
  router: routerSpec,
  action: actionSpec,
  map: mapSpec,
  loop: loopSpec,
  subflow: subflowSpec,
  delay: delaySpec,
  approval: approvalSpec,
} satisfies Readonly<Record<NodeKind, NodeSpec>>;

/** The parsed configuration of each node type, without the nested flow. */
export type NodeConfigs = { readonly [Kind in NodeKind]: z.output<(typeof specs)[Kind]["config"]> };

export const NODE_SPECS: Readonly<Record<NodeKind, NodeSpec>> = specs;

/** Every handle that edges may leave a node by; includes `error` if the node's failures branch. */
export function nodeHandles(
  spec: NodeSpec,
  config: Readonly<Record<string, unknown>>,
  onError: string | undefined,
): readonly string[] {
  const handles = spec.handles(config);
  return onError === "branch" ? [...handles, "error"] : handles;
}
