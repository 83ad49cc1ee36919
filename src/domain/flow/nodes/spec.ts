import type { z } from "zod";
import type { ModelsAsked } from "../../models/choose.ts";
import type { Json, JsonObject } from "../../json.ts";
import type { FlowLimits } from "../definition/limits.ts";
import type { Execution, RetryPolicy } from "../kinds.ts";
import type { FlowProblemCode } from "../validate/problems.ts";
import type { Asked } from "./assignees.ts";

/** A place in a node's configuration that is evaluated when the node runs. */
export interface Expression {
  readonly language: "cel" | "liquid";
  readonly source: string;
  /** Its path below `config`. */
  readonly path: ReadonlyArray<string | number>;
}

/** What a pause asks for, as clients need it to render a page. */
export interface PauseShape {
  /** The part of the node that pauses, if it is not the node itself. */
  readonly below?: "tools";
  readonly form: JsonObject | null;
  readonly actions: ReadonlyArray<{ readonly id: string; readonly label?: string | undefined }>;
}

/** A fault of a configuration that its schema cannot express. */
export interface ConfigFault {
  /** Default `invalid_config`. */
  readonly code?: FlowProblemCode;
  readonly path: ReadonlyArray<string | number>;
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly hint?: string;
}

/**
 * What flows can refer to by an id. A new kind is a word here and its lookup in services/projects/flow-references.ts.
 */
export type ReferenceKind = "project" | "knowledge_base" | "skill" | "connection" | "provider" | "action";

/** Something of the organisation that must exist for a node to work. */
export interface NodeReference {
  readonly kind: ReferenceKind;
  /** In the form in which it is compared: UUIDs in lower case. */
  readonly id: string;
  /** Of what has versions. */
  readonly version?: number | string;
  /** The place of `id`, below `config`. */
  readonly path: ReadonlyArray<string | number>;
  /** For an action, or for a provider whose actions are all meant: how it is used. */
  readonly use?: ActionUse;
}

/** How a node uses an action. */
export interface ActionUse {
  /** Whether it names a connection. */
  readonly connected: boolean;
  /** The inputs that the flow gives; a model gives the rest. */
  readonly inputs?: { readonly names: readonly string[]; readonly member: string; readonly all: boolean };
}

export type NodeConfig = Readonly<Record<string, unknown>>;

/**
 * The static description of a kind of node. Members that take a configuration take it
 * parsed by `config`; they are methods so that a table of all kinds has one type.
 */
export interface NodeSpec<Config = NodeConfig> {
  readonly description: string;
  readonly config: z.ZodType<Config>;
  /** Whether a run's inputs give it its value; such kinds are allowed at the top level only. */
  readonly input?: true;
  /** Whether it contains a nested flow in `config.flow` (which `config` then leaves out). */
  readonly nested?: true;
  /** Whether it has an effect besides its value, so that it is useful even if no node reads it. */
  readonly effect?: true;
  execution(config: Config): Execution;
  /** The handles edges may leave by, without `error` (see `nodeHandles`). */
  handles(config: Config): readonly string[];
  expressions(config: Config): readonly Expression[];
  /** The member of its value that an output without an expression yields. Default: the whole value. */
  outputMember?(config: Config): string;
  /** Faults beyond the schema, e.g. two cases of the same id. */
  faults?(config: Config, limits: FlowLimits): readonly ConfigFault[];
  /** What must exist for it to work: a deploy checks it, and it cannot be deleted while a published flow uses it. */
  references?(config: Config): readonly NodeReference[];
  /** The people that a kind asks. */
  asks?(config: Config): readonly Asked[];
  /** For kinds that ask a model: the model that the node names; null if it asks none. */
  model?(config: Config): ModelsAsked | null;
  /** Whether it keeps data for later runs. Redaction is refused then, so every kind has to say. */
  remembers(config: Config): boolean;
  /** The default policy; members that a node leaves out come from here. */
  readonly retry: RetryPolicy;
  /** The default time-out. */
  readonly timeout_ms?: number;
  readonly io: NodeIo<Config>;
}

/** The kind's part of a flow's input/output schema. All schemas are JSON Schema 2020-12. */
export interface NodeIo<Config = NodeConfig> {
  /** The value other nodes see. */
  output(config: Config): JsonObject;
  /** The input a run may pass; `required` says whether it must. */
  input?(config: Config, limits: Pick<FlowLimits, "max_input_bytes">): { schema: JsonObject; required: boolean };
  pause?(config: Config): PauseShape | undefined;
}

/** The policy of kinds whose failures are deterministic. */
const NO_RETRY: RetryPolicy = {
  max_attempts: 1,
  initial_interval_ms: 1000,
  backoff: 2,
  max_interval_ms: 30_000,
};

/** The policy of kinds that call another service. */
export const NETWORK_RETRY: RetryPolicy = { ...NO_RETRY, max_attempts: 3 };

/** For kinds that keep nothing for later runs. */
export const remembersNothing = (): boolean => false;

type NodeDraft<Config> = Omit<NodeSpec<Config>, "handles" | "expressions" | "retry"> &
  Partial<Pick<NodeSpec<Config>, "handles" | "expressions" | "retry">>;

/** A kind of node. Unless it says otherwise it has the handle `out` and no expressions, and is not tried again. */
export function defineNode<Config>(draft: NodeDraft<Config>): NodeSpec<Config> {
  return { handles: () => ["out"], expressions: () => [], retry: NO_RETRY, ...draft };
}

export function cel(source: string, ...path: Array<string | number>): Expression {
  return { language: "cel", source, path };
}

export function liquid(source: string, ...path: Array<string | number>): Expression {
  return { language: "liquid", source, path };
}

/** The templates in a value: each of its strings, however deep, keys excepted. */
export function liquidInside(value: Json, ...path: Array<string | number>): Expression[] {
  if (typeof value === "string") return [liquid(value, ...path)];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    liquidInside(member, ...path, Array.isArray(value) ? Number(key) : key),
  );
}
