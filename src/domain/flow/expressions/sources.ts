import type { NodePart } from "../../runs/run-report.ts";
import type { NodeConfigs } from "../nodes/index.ts";
import type { NodeKind, PlanNode } from "../plan/types.ts";

/** An expression or a template. */
export interface Source {
  readonly language: "cel" | "liquid";
  readonly source: string;
}

const cel = (source = "null"): Source => ({ language: "cel", source });
const liquid = (source: string): Source => ({ language: "liquid", source });

/** What is evaluated for a part of a node's configuration. */
export function sourcesOf(node: PlanNode, part: NodePart): readonly Source[] {
  switch (part) {
    case "skip_if":
      return [cel(node.skip_if)];
    case "node":
      return sourcesOfNode(node);
    case "items":
      return [cel(configOf<"map">(node).items)];
    case "initial":
      return [cel(configOf<"loop">(node).initial)];
    case "while":
      return [cel(configOf<"loop">(node).while)];
    case "inputs":
      return Object.values(configOf<"subflow">(node).inputs).map(cel);
    case "until":
      return [cel(configOf<"delay">(node).until)];
    case "approval": {
      const { message, data } = configOf<"approval">(node);
      return [liquid(message), cel(data)];
    }
    default:
      return part satisfies never;
  }
}

function sourcesOfNode(node: PlanNode): readonly Source[] {
  switch (node.type) {
    case "template":
      return [liquid(configOf<"template">(node).template)];
    case "output":
      return [liquid(configOf<"output">(node).value ?? "")];
    case "set":
      return Object.values(configOf<"set">(node).values).map(cel);
    case "condition":
      return configOf<"condition">(node).cases.map(({ when }) => cel(when));
    case "guard": {
      const { check, message } = configOf<"guard">(node);
      return [cel(check), liquid(message)];
    }
    default:
      return [];
  }
}

/** The configuration of a node whose kind is known. */
export function configOf<Kind extends NodeKind>(node: PlanNode): NodeConfigs[Kind] {
  // Plans come from compileFlow, which parsed this with the kind's own schema.
  return node.config as unknown as NodeConfigs[Kind];
}
