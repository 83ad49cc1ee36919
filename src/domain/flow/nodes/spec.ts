import type { z } from "zod";
import type { ModelsAsked } from "../../models/choose.ts";
import type { Json, JsonObject } from "../../json.ts";
import type { FlowLimits } from "../definition/limits.ts";
import type { Execution, RetryPolicy } from "../kinds.ts";
import type { FlowProblemCode } from "../validate/problems.ts";
import type { Asked } from "./assignees.ts";

/** An expression or template in a node's configuration, evaluated when the node runs. */
export interface Expression {
  readonly language: "cel" | "liquid";
  readonly source: string;
  /** Its location below `config`. */
  readonly path: ReadonlyArray<string | number>;
}

/** What a pause asks, as clients need it to render a form. */
export interface PauseShape {
  /** The part of the node that pauses, unless it is the node itself. */
  readonly below?: "tools";
  readonly form: JsonObject | null;
  readonly actions: ReadonlyArray<{ readonly id: string; readonly label?: string | undefined }>;
}

/** A problem of a configuration that its schema cannot express. */
export interface ConfigFault {
  /** Default `invalid_config`. */
  readonly code?: FlowProblemCode;
  readonly path: ReadonlyArray<string | number>;
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly hint?: string;
}

/** What flows can refer to by ID. A new type of reference needs an entry here and a lookup in services/projects/flow-references.ts. */
export type ReferenceKind =
  | "project"
  | "environment"
  | "knowledge_base"
  | "skill"
  | "connection"
  | "provider"
  | "action";

/** Something in the organisation that must exist for a node to work. */
export interface NodeReference {
  readonly kind: ReferenceKind;
  /** In canonical form: UUIDs in lower case; an environment is `<project>/<name>`. */
  readonly id: string;
  /** Only for things that have versions. */
  readonly version?: number | string;
  /** Only for projects: the environment whose version is meant. */
  readonly environment?: string | undefined;
  /** The location of `id`, below `config`. */
  readonly path: ReadonlyArray<string | number>;
  /** How an action is used; also set for a provider, if all of its actions are meant. */
  readonly use?: ActionUse;
}

export interface ActionUse {
  /** Whether the node names a connection. */
  readonly connected: boolean;
  /** The inputs that the flow sets; a model chooses the rest. */
  readonly inputs?: { readonly names: readonly string[]; readonly member: string; readonly all: boolean };
}

/** Groups of node types in editors, in this order. */
export const NODE_GROUPS = ["inputs", "models", "data", "logic", "services", "people", "outputs"] as const;
export type NodeGroup = (typeof NODE_GROUPS)[number];

export type NodeConfig = Readonly<Record<string, unknown>>;

/**
 * The static description of a node type. Fields that depend on a configuration receive it parsed by `config`; they are methods so that one
 * table can hold all types.
 */
export interface NodeSpec<Config = NodeConfig> {
  /** The type's name for people. */
  readonly title: string;
  readonly group: NodeGroup;
  /** The name of its icon in editors. */
  readonly icon: string;
  /** One line of help. */
  readonly description: string;
  /** A configuration that shows what the type is for, without the nested flow. */
  readonly example: JsonObject;
  /** Fields of `config` that editors collapse, because few flows need them. */
  readonly advanced?: readonly string[];
  readonly config: z.ZodType<Config>;
  /** Whether a run's inputs provide its value; such types are allowed only at the top level. */
  readonly input?: true;
  /** Whether edges may lead to its nodes. A value that is known from the start waits for nothing. Default true. */
  readonly target?: false;
  /** Whether it contains a nested flow in `config.flow`, which `config` does not parse. */
  readonly nested?: true;
  /** Variables of expressions in its nested flow; the node's own expressions see them too, if `last` is among them. */
  readonly inside?: ReadonlyArray<"item" | "index" | "last">;
  /** Whether the node has an effect besides its value, so that it is useful even if no other node reads it. */
  readonly effect?: true;
  execution(config: Config): Execution;
  /** The handles that edges may leave by, without `error` (see `nodeHandles`). */
  handles(config: Config): readonly string[];
  expressions(config: Config): readonly Expression[];
  /** The field of its value that an output without an expression returns. Default: the whole value. */
  outputMember?(config: Config): string;
  /** Problems that the schema cannot express, such as two cases with the same ID. */
  faults?(config: Config, limits: FlowLimits): readonly ConfigFault[];
  /** What must exist for the node to work: deploying checks it, and it cannot be deleted while a published flow uses it. */
  references?(config: Config): readonly NodeReference[];
  asks?(config: Config): readonly Asked[];
  /** For types that can call a model: the model that the node names; null if the node calls none. */
  model?(config: Config): ModelsAsked | null;
  /** Whether the node keeps data for later runs. Such nodes cannot be combined with redaction, so every type must say. */
  remembers(config: Config): boolean;
  /** The default retry policy, which fills in fields that a node omits. */
  readonly retry: RetryPolicy;
  /** The default time-out. */
  readonly timeout_ms?: number;
  readonly io: NodeIo<Config>;
}

/** The node type's part of a flow's input and output schema. All schemas are JSON Schema 2020-12. */
export interface NodeIo<Config = NodeConfig> {
  /** The value that other nodes see, as far as the configuration determines it. */
  output(config: Config): JsonObject;
  /** Set if something that the node refers to determines the value: an action, or another project's flow. */
  readonly outputOf?: "action" | "project";
  /**
   * For types with a nested flow: the value, by the schema of what an iteration returns. `schemaOf` returns the schema of an expression; empty
   * if it is unknown.
   */
  repeated?(config: Config, iteration: JsonObject, schemaOf: (source: string) => JsonObject): JsonObject;
  /** The input that a run may pass; `required` says whether it must. */
  input?(config: Config, limits: Pick<FlowLimits, "max_input_bytes">): { schema: JsonObject; required: boolean };
  pause?(config: Config): PauseShape | undefined;
}

/** The policy of node types whose failures are deterministic. */
const NO_RETRY: RetryPolicy = {
  max_attempts: 1,
  initial_interval_ms: 1000,
  backoff: 2,
  max_interval_ms: 30_000,
};

/** The policy of node types that call another service. */
export const NETWORK_RETRY: RetryPolicy = { ...NO_RETRY, max_attempts: 3 };

/** For node types that keep nothing for later runs. */
export const remembersNothing = (): boolean => false;

type NodeDraft<Config> = Omit<NodeSpec<Config>, "handles" | "expressions" | "retry" | "advanced"> &
  Partial<Pick<NodeSpec<Config>, "handles" | "expressions" | "retry">> & {
    readonly advanced?: ReadonlyArray<keyof Config & string>;
  };

/** Defines a node type. By default it has the handle `out`, no expressions and no retries. */
export function defineNode<Config>(draft: NodeDraft<Config>): NodeSpec<Config> {
  return { handles: () => ["out"], expressions: () => [], retry: NO_RETRY, ...draft };
}

export function cel(source: string, ...path: Array<string | number>): Expression {
  return { language: "cel", source, path };
}

export function liquid(source: string, ...path: Array<string | number>): Expression {
  return { language: "liquid", source, path };
}

/** The templates in a value: all strings at any depth, except keys. */
export function liquidInside(value: Json, ...path: Array<string | number>): Expression[] {
  if (typeof value === "string") return [liquid(value, ...path)];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    liquidInside(member, ...path, Array.isArray(value) ? Number(key) : key),
  );
}
