/** A flow as plain JSON. Unknown fields are kept, because a draft may be an invalid flow or one of a newer format. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [field: string]: Json | undefined;
}

export interface FlowNode extends JsonObject {
  readonly id: string;
  readonly type: string;
  readonly name?: string;
  readonly config?: JsonObject;
  readonly retry?: JsonObject;
  readonly timeout_ms?: number;
  readonly on_error?: string;
  readonly default_output?: Json;
  readonly skip_if?: string;
  readonly notes?: string;
}

export interface FlowEdge extends JsonObject {
  readonly source: string;
  /** `out` if omitted. */
  readonly source_handle?: string;
  readonly target: string;
}

/** A flow, or the flow inside a map or loop. */
export interface FlowGraph extends JsonObject {
  readonly nodes: readonly FlowNode[];
  readonly edges: readonly FlowEdge[];
}

export interface Point extends JsonObject {
  readonly x: number;
  readonly y: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A sticky note. */
export interface Note extends JsonObject {
  readonly id: string;
  /** Markdown. */
  readonly text: string;
  readonly color?: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Path of the map or loop whose flow the note is in: `map-0/loop-1`. Omitted at the top level. */
  readonly scope?: string;
}

/** What editors keep with a flow. All keys are node paths: `map-0/tpl-0`. */
export interface FlowUi extends JsonObject {
  readonly positions?: Readonly<Record<string, Point>>;
  readonly notes?: readonly Note[];
  /** Nodes that cannot be moved or removed. */
  readonly locked?: readonly string[];
}

export interface FlowDocument extends FlowGraph {
  readonly schema_version: number;
  readonly name: string;
  readonly description?: string;
  readonly settings?: JsonObject;
  readonly examples?: readonly Json[];
  readonly ui?: FlowUi;
}

/** A node type as `GET /v2/flows/node-kinds` describes it. */
export interface NodeKind {
  readonly type: string;
  /** Whether a run's inputs provide its nodes' values; such nodes are allowed only at the top level. */
  readonly input: boolean;
  /** Whether edges may lead to its nodes. */
  readonly target: boolean;
  /** JSON Schema of `config`. */
  readonly config: Readonly<Record<string, unknown>>;
  /** A configuration, without the nested flow. */
  readonly example: Readonly<Record<string, unknown>>;
  /** With `each`, there is one handle for every entry of this field of `config`, and `{id}` stands for its ID. */
  readonly handles: ReadonlyArray<{
    readonly handle: string;
    readonly each?: string;
    readonly when?: Readonly<Record<string, unknown>>;
  }>;
}

/** IDs of the maps and loops that lead to a nested flow, from the top. */
export type Scope = readonly string[];
export type Path = ReadonlyArray<string | number>;

/** Nodes with the edges between them and their places: what the clipboard carries. */
export interface Clip {
  readonly nodes: readonly FlowNode[];
  readonly edges: readonly FlowEdge[];
  /** By node path below the copied nodes: `tpl-0`, `map-0/tpl-0`. */
  readonly positions: Readonly<Record<string, Point>>;
  readonly notes: readonly Note[];
}

/** One entry of a list, or one field of an object, that a change removes or inserts. */
type Entry = readonly [key: string, value: Json | undefined];

/** Replaces entries of one list or object. `path` leads to it; the entries keep their order. */
export interface Change {
  readonly path: Path;
  readonly at: number;
  readonly removed: readonly Entry[];
  readonly inserted: readonly Entry[];
}

/** Search and replace. */
export interface TextSearch {
  readonly text: string;
  readonly matchCase?: boolean;
}

/** A text of a node or of a sticky note. */
export interface TextPlace {
  readonly of: "node" | "note";
  readonly scope: Scope;
  readonly id: string;
  /** Path below the node or note: `["config", "prompt"]`. */
  readonly path: Path;
}

/** The fields of a node besides its ID, type and configuration; undefined removes a field. */
export type NodeFields = Readonly<Record<string, Json | undefined>>;

/** A change of the document. `scope` names the flow that it changes. */
export type Command =
  | {
      readonly type: "addNode";
      readonly scope: Scope;
      readonly node: FlowNode;
      readonly position?: Point;
      readonly edges?: readonly FlowEdge[];
    }
  | {
      readonly type: "removeNodes";
      readonly scope: Scope;
      readonly ids: readonly string[];
      /** Sticky notes to remove with them. */
      readonly notes?: readonly string[];
      /** Connects what came before the nodes with what came after them. */
      readonly reconnect?: boolean;
    }
  | {
      readonly type: "moveNodes";
      readonly scope: Scope;
      readonly positions: Readonly<Record<string, Point>>;
      /** New places of sticky notes by their ID. */
      readonly notes?: Readonly<Record<string, Point>>;
    }
  | {
      readonly type: "setConfig";
      readonly scope: Scope;
      readonly id: string;
      /** Path below `config`; empty for the whole configuration. */
      readonly path: Path;
      /** Undefined removes the field or entry. */
      readonly value: Json | undefined;
    }
  | { readonly type: "setNode"; readonly scope: Scope; readonly id: string; readonly fields: NodeFields }
  /** Changes an ID and everything in the flow that names it. */
  | { readonly type: "renameNode"; readonly scope: Scope; readonly id: string; readonly to: string }
  | { readonly type: "connect"; readonly scope: Scope; readonly edge: FlowEdge }
  | { readonly type: "disconnect"; readonly scope: Scope; readonly edges: readonly FlowEdge[] }
  | {
      readonly type: "insertOnEdge";
      readonly scope: Scope;
      readonly edge: FlowEdge;
      readonly node: FlowNode;
      readonly position?: Point;
      /** Handle by which the edge after the node leaves it; default `out`. */
      readonly handle?: string;
    }
  | {
      readonly type: "duplicate";
      readonly scope: Scope;
      readonly ids: readonly string[];
      readonly notes?: readonly string[];
    }
  | { readonly type: "paste"; readonly scope: Scope; readonly clip: Clip; readonly at?: Point }
  | {
      readonly type: "replaceText";
      readonly search: TextSearch;
      readonly replacement: string;
      /** Only at these places; everywhere if omitted. */
      readonly places?: readonly TextPlace[];
    }
  /** Adds sticky notes, or replaces the ones with the same ID. */
  | { readonly type: "setNotes"; readonly notes: readonly Note[] }
  | { readonly type: "removeNotes"; readonly ids: readonly string[] }
  | { readonly type: "setLocked"; readonly scope: Scope; readonly ids: readonly string[]; readonly locked: boolean }
  | { readonly type: "setSettings"; readonly settings: JsonObject | undefined }
  /** Sets fields of the document such as `name` and `examples`; undefined removes a field. */
  | { readonly type: "setDocument"; readonly fields: NodeFields }
  | { readonly type: "replaceDocument"; readonly document: FlowDocument }
  /** Several commands as one step. */
  | { readonly type: "all"; readonly commands: readonly Command[] }
  /** The inverse of a command. */
  | { readonly type: "change"; readonly changes: readonly Change[] };

export interface Selection {
  readonly nodes: readonly string[];
  /** Keys of edges (`edgeKey`). */
  readonly edges: readonly string[];
  readonly notes: readonly string[];
}

/** One step that can be undone. */
export interface Step {
  readonly undo: readonly Change[];
  readonly redo: readonly Change[];
  readonly scope: Scope;
  readonly before: Selection;
  readonly after: Selection;
}

export interface EditorState {
  /** The node types; without them, expressions are found by their look. */
  readonly kinds: readonly NodeKind[];
  readonly document: FlowDocument;
  readonly past: readonly Step[];
  readonly future: readonly Step[];
  readonly selection: Selection;
  /** The flow that is open. */
  readonly scope: Scope;
  /** The group that the last step belongs to, and the document before its first change. */
  readonly group: { readonly key: string; readonly at: number; readonly base: FlowDocument } | null;
}

export type Action =
  /** Commands with the same `group` within a second of each other are one step; `at` is the time in milliseconds. */
  | {
      readonly type: "do";
      readonly command: Command;
      readonly group?: string;
      readonly at?: number;
      /** The selection after the command. */
      readonly select?: Partial<Selection>;
    }
  | { readonly type: "undo" }
  | { readonly type: "redo" }
  | { readonly type: "select"; readonly selection: Partial<Selection> }
  /** Opens a nested flow, or the flow around it. */
  | { readonly type: "open"; readonly scope: Scope }
  /** Ends a group: the next command is a step of its own. */
  | { readonly type: "endGroup" }
  /** Opens another document and empties the history. */
  | { readonly type: "load"; readonly document: FlowDocument; readonly kinds?: readonly NodeKind[] };
