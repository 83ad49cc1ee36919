import type { NodeConfigs } from "../../src/domain/flow/nodes/index.ts";
import { byKind, type ByKind } from "../../src/domain/flow/plan/by-kind.ts";
import type { PlanNode } from "../../src/domain/flow/plan/types.ts";
import type { Scope } from "../../src/domain/flow/scope.ts";
import type { Json } from "../../src/domain/json.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { AgentExecutor } from "./agent/agent.ts";
import type { GivenAudio } from "./audio.ts";
import type { NodeExecution, NodeExecutor, NodeOutcome } from "./executor.ts";
import type { GivenImage } from "./image.ts";

/** The executors of all node types that regular activities execute. */
export interface NodeExecutors {
  readonly http: NodeExecutor<NodeConfigs["http"]>;
  readonly code: NodeExecutor<NodeConfigs["code"]>;
  readonly url: NodeExecutor<{ readonly url: string }>;
  readonly audio: NodeExecutor<GivenAudio>;
  readonly image: NodeExecutor<GivenImage>;
  readonly knowledge: NodeExecutor<NodeConfigs["knowledge"]>;
  readonly llm: NodeExecutor<NodeConfigs["llm"]>;
  /** Parts of `llm` nodes that call tools. */
  readonly agent: AgentExecutor;
  readonly router: NodeExecutor<NodeConfigs["router"]>;
  readonly action: NodeExecutor<NodeConfigs["action"]>;
}

type Execution = Omit<NodeExecution<never>, "config">;

const notHere = async ({ type }: PlanNode): Promise<NodeOutcome> => {
  throw new NodeFailure("internal_error", `A node of kind ${type} is not executed by an activity.`);
};

/** How each node type is executed. */
const EXECUTED: ByKind<[NodeExecutors, Execution], Promise<NodeOutcome>> = {
  http: ({ config }, executors, execution) => executors.http({ ...execution, config }),
  code: ({ config }, executors, execution) => executors.code({ ...execution, config }),
  knowledge: ({ config }, executors, execution) => executors.knowledge({ ...execution, config }),
  llm: ({ config }, executors, execution) => executors.llm({ ...execution, config }),
  router: ({ config }, executors, execution) => executors.router({ ...execution, config }),
  action: ({ config }, executors, execution) => executors.action({ ...execution, config }),
  async url(node, executors, execution) {
    const url = given(node, execution.scope) ?? node.config.default;
    // An optional URL was omitted, so there is nothing to load.
    if (typeof url !== "string") return { output: { url: null, title: null, text: "", content_type: null } };
    return executors.url({ ...execution, config: { url } });
  },
  async audio(node, executors, execution) {
    const value = given(node, execution.scope);
    if (typeof value !== "string") return { output: { text: "" } };
    return executors.audio({ ...execution, config: { ...node.config, node_id: node.id, given: value } });
  },
  async image(node, executors, execution) {
    const value = given(node, execution.scope);
    if (typeof value !== "string") return { output: { text: "" } };
    return executors.image({ ...execution, config: { ...node.config, node_id: node.id, given: value } });
  },
  input: notHere,
  string: notHere,
  files: notHere,
  output: notHere,
  template: notHere,
  set: notHere,
  condition: notHere,
  guard: notHere,
  map: notHere,
  loop: notHere,
  subflow: notHere,
  delay: notHere,
  approval: notHere,
};

/** Executes a node with the executor of its type. */
export function executeByKind(executors: NodeExecutors, node: PlanNode, execution: Execution): Promise<NodeOutcome> {
  return byKind(EXECUTED, node, executors, execution);
}

/** The value that the run gave an input. */
function given(node: PlanNode, scope: Scope): Json | undefined {
  return Object.hasOwn(scope.inputs, node.id) ? scope.inputs[node.id] : undefined;
}
