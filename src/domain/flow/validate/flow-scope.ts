import { objectSchema } from "../../json-schema.ts";
import type { JsonObject } from "../../json.ts";
import { nearestName } from "../../nearest-name.ts";
import { celLiteralOf, celPathOf, celReadPaths } from "../expressions/cel/read-paths.ts";
import { templateReadPaths } from "../expressions/liquid/liquid.ts";
import type { FlowLimits } from "../definition/limits.ts";
import type { Expression } from "../nodes/spec.ts";
import type { ReadPath } from "../scope.ts";
import { followSchema, itemsOf } from "./follow-schema.ts";
import { outputSchemaOf, type OutputsOfOthers } from "./output-schemas.ts";
import { shorten, type ProblemList } from "./problems.ts";
import type { ScopeValue } from "./scope-list.ts";
import type { CheckedNode } from "./validate-node.ts";

/** What the nodes of a graph can read. */
export interface GraphValues {
  /** The beginning of the paths of the graph's nodes. */
  readonly prefix: string;
  /** The value of a node or variable, if the node at `position` can read it. */
  find(position: number, name: string): ScopeValue | undefined;
  all(position: number): ScopeValue[];
  /** The values that the nested flow of the node at `position` can read from outside. */
  inside(position: number): OuterValues;
}

/** The values that a nested flow can read from the flow around it. */
export interface OuterValues {
  readonly prefix: string;
  find(name: string): ScopeValue | undefined;
  all(): ScopeValue[];
}

/** Names that take precedence over node IDs. */
const OWN_NAMES: readonly string[] = ["inputs", "run", "item", "index", "last"];
const isOwn = (name: string): boolean => OWN_NAMES.includes(name);
const INDEX: JsonObject = { type: "integer", minimum: 0 };
const RUN = objectSchema({
  id: { type: "string" },
  user_id: { type: ["string", "null"] },
  metadata: { type: "object" },
});

/** The values outside of the whole flow: the run's inputs and the run. */
export function valuesOfRun(nodes: readonly CheckedNode[], limits: FlowLimits): OuterValues {
  const inputs = nodes.flatMap(({ id, spec, config }) => {
    if (id === undefined || !spec?.io.input) return [];
    return [{ id, ...(config ? spec.io.input(config, limits) : { schema: {}, required: false }) }];
  });
  const required = inputs.filter((input) => input.required).map(({ id }) => id);
  const properties = Object.fromEntries(inputs.map(({ id, schema }) => [id, schema]));
  const values = [
    ownValue("inputs", null, { type: "object", properties, ...(required.length > 0 && { required }) }),
    ownValue("run", null, RUN),
  ];
  return { prefix: "", find: (name) => values.find(({ kind }) => kind === name), all: () => values };
}

function ownValue(kind: Exclude<ScopeValue["kind"], "node">, path: string | null, schema: JsonObject): ScopeValue {
  // No node ID contains a $, so such keys are unique.
  const key = path === null ? `$${kind}` : `${path}/$${kind}`;
  return { key, kind, node_path: path, liquid: kind, cel: kind, schema };
}

/** `before(node, earlier)`: whether `earlier` comes before `node`. */
export function createGraphValues(
  nodes: readonly CheckedNode[],
  positions: ReadonlyMap<string, number>,
  before: (node: number, earlier: number) => boolean,
  outer: OuterValues,
  others: OutputsOfOthers,
): GraphValues {
  const made = new Map<number, ScopeValue>();
  const variables = new Map<number, ScopeValue[]>();

  function valueOf(position: number): ScopeValue | undefined {
    const known = made.get(position);
    const node = nodes[position];
    if (known || node?.id === undefined) return known;
    const node_path = `${outer.prefix}${node.id}`;
    const cel = `nodes[${JSON.stringify(node.id)}]`;
    const value: ScopeValue = {
      key: node_path,
      kind: "node",
      node_path,
      liquid: OWN_NAMES.includes(node.id) || node.id === "nodes" ? cel : node.id,
      cel,
      schema: withFailure(node, outputOf(position)),
    };
    made.set(position, value);
    return value;
  }

  function nodeSeen(position: number, id: string): ScopeValue | undefined {
    const earlier = positions.get(id);
    if (earlier === undefined) return outer.find(id);
    return earlier !== position && before(position, earlier) ? valueOf(earlier) : undefined;
  }

  function own(position: number, isInside: boolean): ScopeValue[] {
    const { spec, id } = nodes[position] ?? {};
    if (spec?.inside === undefined || id === undefined) return [];
    if (!isInside && !spec.inside.includes("last")) return [];
    const known =
      variables.get(position) ?? spec.inside.map((name) => variable(position, `${outer.prefix}${id}`, name));
    variables.set(position, known);
    return known;
  }

  function variable(position: number, path: string, name: "item" | "index" | "last"): ScopeValue {
    if (name === "index") return ownValue(name, path, INDEX);
    // The first iteration's `last` is the initial value, as is the value of a loop without iterations.
    if (name === "last") return ownValue(name, path, outputOf(position));
    const items = nodes[position]?.config?.["items"];
    return ownValue(name, path, typeof items === "string" ? itemsOf(schemaAt(position, items)) : {});
  }

  function outputOf(position: number): JsonObject {
    const { spec, node, config } = nodes[position] ?? {};
    if (!spec || !config || !node) return {};
    return outputSchemaOf(node, others, (source) => schemaAt(position, source));
  }

  /** The schema of an expression that sees no variables of the node itself; known only for a plain path or a literal. */
  function schemaAt(position: number, source: string): JsonObject {
    const literal = celLiteralOf(source);
    if (literal !== undefined) return { const: literal };
    const path = celPathOf(source);
    const read = path && resolve(path, "cel", (name) => (isOwn(name) ? outer.find(name) : nodeSeen(position, name)));
    const followed = read && followSchema(read.value.schema, read.rest, "cel", isClosed(read.value));
    return followed?.ok ? followed.schema : {};
  }

  function find(position: number, name: string): ScopeValue | undefined {
    if (!isOwn(name)) return nodeSeen(position, name);
    return own(position, false).find(({ kind }) => kind === name) ?? outer.find(name);
  }

  function visible(position: number, isInside: boolean): ScopeValue[] {
    const mine = own(position, isInside);
    const around = outer
      .all()
      .filter(({ kind, node_path }) =>
        kind === "node"
          ? !positions.has(node_path?.slice(node_path.lastIndexOf("/") + 1) ?? "")
          : !mine.some((value) => value.kind === kind),
      );
    const earlier = nodes.flatMap(({ id }) =>
      id !== undefined && positions.has(id) ? (nodeSeen(position, id) ?? []) : [],
    );
    return [...earlier, ...mine, ...around];
  }

  return {
    find,
    all: (position) => visible(position, false),
    inside: (position) => ({
      prefix: `${outer.prefix}${nodes[position]?.id ?? "?"}/`,
      find: (name) => own(position, true).find(({ kind }) => kind === name) ?? find(position, name),
      all: () => visible(position, true),
    }),
    prefix: outer.prefix,
  };
}

/** The schema of a node's value if the node may fail. */
function withFailure({ spec, node, config }: CheckedNode, schema: JsonObject): JsonObject {
  // With an error branch, the failure can be the node's value.
  if (!spec || !config || node?.on_error === "branch") return {};
  return node?.on_error === "continue" ? { anyOf: [schema, { const: node.default_output ?? null }] } : schema;
}

/** Whether a value has only the fields that its schema lists. Items, and what iterations return, come from outside. */
function isClosed({ kind }: ScopeValue): boolean {
  return kind !== "item" && kind !== "last";
}

/** The value that a path starts at, and the remaining keys. */
function resolve(
  path: ReadPath,
  language: Expression["language"],
  find: (name: string) => ScopeValue | undefined,
): { readonly value: ScopeValue; readonly rest: ReadPath } | undefined {
  const [first, second, ...rest] = path;
  if (first === "nodes") {
    const value = typeof second === "string" && !OWN_NAMES.includes(second) ? find(second) : undefined;
    return value && { value, rest };
  }
  const isName = OWN_NAMES.includes(String(first)) || language === "liquid";
  const value = isName ? find(String(first)) : undefined;
  return value && { value, rest: path.slice(1) };
}

/** Warns of fields that a value cannot have. */
export function reportFields(nodes: readonly CheckedNode[], values: GraphValues, problems: ProblemList): void {
  for (const [position, { id, expressions }] of nodes.entries()) {
    for (const { path, language, source } of expressions) {
      const reads = language === "cel" ? celReadPaths(source) : templateReadPaths(source);
      for (const read of reads) {
        const found = resolve(read, language, (name) => values.find(position, name));
        if (!found) continue;
        const { value, rest } = found;
        const followed = followSchema(value.schema, rest, language, isClosed(value));
        if (followed.ok) continue;
        const nearest = nearestName(followed.key, followed.known);
        const listed = followed.known.slice(0, 20).join(", ");
        const known = listed === "" ? undefined : `It has ${listed}`;
        const place = { severity: "warning", path, node_id: id ?? null } as const;
        const message = `The value of ${value.liquid} has no field "${shorten(followed.key)}" at this place`;
        const hint = nearest === undefined ? known : `Did you mean "${nearest}"?`;
        problems.add({ ...place, code: "reads_unknown_field", message, hint });
      }
    }
  }
}
