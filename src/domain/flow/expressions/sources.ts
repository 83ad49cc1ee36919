import type { NodePart } from "../../runs/run-report.ts";
import { byKind, ofKind } from "../plan/by-kind.ts";
import type { ByKind } from "../plan/by-kind.ts";
import type { PlanNode } from "../plan/types.ts";

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
      return byKind(SOURCES, node);
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

const NONE = (): readonly Source[] => [];

/** Expressions of the kinds that only evaluate their configuration. */
const SOURCES: ByKind<[], readonly Source[]> = {
  template: ({ config }) => [liquid(config.template)],
  output: ({ config }) => [liquid(config.value ?? "")],
  set: ({ config }) => Object.values(config.values).map(cel),
  condition: ({ config }) => config.cases.map(({ when }) => cel(when)),
  guard: ({ config }) => [cel(config.check), liquid(config.message)],
  input: NONE,
  string: NONE,
  url: NONE,
  files: NONE,
  audio: NONE,
  image: NONE,
  http: NONE,
  code: NONE,
  knowledge: NONE,
  llm: NONE,
  router: NONE,
  action: NONE,
  map: NONE,
  loop: NONE,
  subflow: NONE,
  delay: NONE,
  approval: NONE,
};
