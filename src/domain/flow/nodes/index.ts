import type { NodeKind } from "../kinds.ts";
import { actionSpec, type ActionConfig } from "./action.ts";
import { audioSpec, type AudioConfig } from "./audio.ts";
import { imageSpec, type ImageConfig } from "./image.ts";
import { approvalSpec, type ApprovalConfig } from "./approval.ts";
import { codeSpec, type CodeConfig } from "./code.ts";
import { conditionSpec, type ConditionConfig } from "./condition.ts";
import { delaySpec, type DelayConfig } from "./delay.ts";
import { filesSpec, type FilesConfig } from "./files.ts";
import { guardSpec, type GuardConfig } from "./guard.ts";
import { httpSpec, type HttpConfig } from "./http.ts";
import { inputSpec, type InputConfig } from "./input.ts";
import { knowledgeSpec, type KnowledgeConfig } from "./knowledge.ts";
import { llmSpec, type LlmConfig } from "./llm.ts";
import { routerSpec, type RouterConfig } from "./router.ts";
import { loopSpec, type LoopConfig } from "./loop.ts";
import { mapSpec, type MapConfig } from "./map.ts";
import { outputSpec, type OutputConfig } from "./output.ts";
import { setSpec, type SetConfig } from "./set.ts";
import type { NodeSpec } from "./spec.ts";
import { stringSpec, type StringConfig } from "./string.ts";
import { subflowSpec, type SubflowConfig } from "./subflow.ts";
import { templateSpec, type TemplateConfig } from "./template.ts";
import { urlSpec, type UrlConfig } from "./url.ts";

/** The parsed configuration of each kind, for code that works on one kind. */
export interface NodeConfigs {
  input: InputConfig;
  string: StringConfig;
  url: UrlConfig;
  files: FilesConfig;
  audio: AudioConfig;
  image: ImageConfig;
  output: OutputConfig;
  template: TemplateConfig;
  set: SetConfig;
  condition: ConditionConfig;
  guard: GuardConfig;
  http: HttpConfig;
  code: CodeConfig;
  knowledge: KnowledgeConfig;
  llm: LlmConfig;
  router: RouterConfig;
  action: ActionConfig;
  map: MapConfig;
  loop: LoopConfig;
  subflow: SubflowConfig;
  delay: DelayConfig;
  approval: ApprovalConfig;
}

const specs: { readonly [Kind in NodeKind]: NodeSpec<NodeConfigs[Kind]> } = {
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
};

/** Every kind of node. Total: a new kind does not compile until it has all its parts. */
export const NODE_SPECS: Readonly<Record<NodeKind, NodeSpec>> = specs;

/** Every handle edges may leave a node by, `error` included where its failures branch. */
export function nodeHandles(
  spec: NodeSpec,
  config: Readonly<Record<string, unknown>>,
  onError: string | undefined,
): readonly string[] {
  const handles = spec.handles(config);
  return onError === "branch" ? [...handles, "error"] : handles;
}
