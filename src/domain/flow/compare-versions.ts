import { canonicalJson } from "./definition/content-hash.ts";
import type { FlowDefinition } from "./definition/definition.ts";
import type { FlowIo } from "./io/io-schema.ts";

/** The IDs that only the later of two flows has, only the earlier one, and both with different contents; sorted. */
export interface Differences {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** A flow with its inputs and outputs, for a comparison. */
export interface ComparedFlow {
  readonly definition: FlowDefinition;
  readonly io: FlowIo;
}

/** What differs between two versions of a flow; without an earlier one everything is added. Layout and notes do not count. */
export function compareVersions(
  before: ComparedFlow | null,
  after: ComparedFlow,
): { readonly inputs: Differences; readonly outputs: Differences; readonly nodes: Differences } {
  return {
    inputs: differences(membersOf(before?.io.inputs), membersOf(after.io.inputs)),
    outputs: differences(membersOf(before?.io.outputs), membersOf(after.io.outputs)),
    nodes: differences(nodesOf(before), nodesOf(after)),
  };
}

type Texts = ReadonlyMap<string, string>;

/** The schemas of an object's members, with whether they are required. */
function membersOf(schema: object | undefined): Texts {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, unknown>>;
    readonly required?: readonly string[];
  };
  return new Map(
    Object.entries(properties).map(([id, member]) => [id, canonicalJson({ member, required: required.includes(id) })]),
  );
}

/** The nodes of a flow, each with the edges that lead to it. */
function nodesOf(flow: ComparedFlow | null): Texts {
  if (flow === null) return new Map();
  const { nodes, edges } = flow.definition;
  return new Map(
    nodes.map(({ notes: _notes, ...node }) => [
      node.id,
      canonicalJson({ node, edges: edges.filter(({ target }) => target === node.id) }),
    ]),
  );
}

function differences(before: Texts, after: Texts): Differences {
  return {
    added: [...after.keys()].filter((id) => !before.has(id)).toSorted(),
    removed: [...before.keys()].filter((id) => !after.has(id)).toSorted(),
    changed: [...after].flatMap(([id, text]) => (before.has(id) && before.get(id) !== text ? [id] : [])).toSorted(),
  };
}
