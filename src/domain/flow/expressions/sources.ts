import type { NodePart } from "../../runs/run-report.ts";
import { ofKind } from "../plan/by-kind.ts";
import type { PlanNode } from "../plan/types.ts";
import { cel, liquid, sourcesOfNode } from "./evaluated-kinds.ts";
import type { Source } from "./evaluated-kinds.ts";

/** The expressions and templates in a part of a node's configuration. */
export function sourcesOf(node: PlanNode, part: NodePart): readonly Source[] {
  switch (part) {
    case "skip_if":
      return [cel(node.skip_if)];
    case "node":
      return sourcesOfNode(node);
    case "items":
      return [cel(ofKind(node, "map").config.items)];
    case "initial":
      return [cel(ofKind(node, "loop").config.initial)];
    case "while":
      return [cel(ofKind(node, "loop").config.while)];
    case "inputs":
      return Object.values(ofKind(node, "subflow").config.inputs).map(cel);
    case "until":
      return [cel(ofKind(node, "delay").config.until)];
    case "approval": {
      const { message, data } = ofKind(node, "approval").config;
      return [liquid(message), cel(data)];
    }
    default:
      return part satisfies never;
  }
}
