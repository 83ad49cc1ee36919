import type { Plan, PlanEdge, PlanNode } from "./types.ts";

type WalkState = "waiting" | "ready" | "running" | "settled" | "skipped";

/** The lookup tables of a plan, built once and shared by all walks (each iteration of a map is a walk). */
export interface PlanIndex {
  readonly nodes: ReadonlyMap<string, PlanNode>;
  readonly outgoing: ReadonlyMap<string, readonly PlanEdge[]>;
  readonly incoming: ReadonlyMap<string, readonly PlanEdge[]>;
  readonly roots: readonly string[];
}

const indexes = new WeakMap<Plan, PlanIndex>();

export function indexPlan(plan: Plan): PlanIndex {
  const known = indexes.get(plan);
  if (known) return known;
  const outgoing = new Map<string, PlanEdge[]>(plan.nodes.map((node) => [node.id, []]));
  const incoming = new Map<string, PlanEdge[]>(plan.nodes.map((node) => [node.id, []]));
  for (const edge of plan.edges) {
    outgoing.get(edge.source)?.push(edge);
    incoming.get(edge.target)?.push(edge);
  }
  const index: PlanIndex = {
    nodes: new Map(plan.nodes.map((node) => [node.id, node])),
    outgoing,
    incoming,
    roots: plan.nodes.filter((node) => incoming.get(node.id)?.length === 0).map((node) => node.id),
  };
  indexes.set(plan, index);
  return index;
}

/** Most nodes in one chain. */
const MAX_CHAIN = 20;

/** The nodes that the activity of `head` may execute after it; see chains.ts. */
export function chainAfter(plan: Plan, head: PlanNode): PlanNode[] {
  const { nodes } = indexPlan(plan);
  const chain: PlanNode[] = [];
  for (let next = head.next; next !== undefined && chain.length < MAX_CHAIN - 1; next = nodes.get(next)?.next) {
    const node = nodes.get(next);
    if (node) chain.push(node);
  }
  return chain;
}

/**
 * One walk over a plan: returns the nodes that are ready, and propagates their results. A node is ready when all incoming edges are settled
 * and at least one is active; if none is active it is skipped, and so are its edges. A join therefore never waits for an inactive branch.
 * Pure: the caller executes nodes and reports their end with `settle`.
 */
export class Walk {
  readonly #index: PlanIndex;
  /** Per node with incoming edges: how many are unsettled, and whether a settled one is active. */
  readonly #open = new Map<string, { unsettled: number; live: boolean }>();
  readonly #states = new Map<string, WalkState>();
  readonly #handles = new Map<string, readonly string[]>();
  #ready: string[];
  #left: number;

  constructor(plan: Plan) {
    this.#index = indexPlan(plan);
    for (const [id, edges] of this.#index.incoming) {
      this.#states.set(id, edges.length === 0 ? "ready" : "waiting");
      if (edges.length > 0) this.#open.set(id, { unsettled: edges.length, live: false });
    }
    this.#ready = [...this.#index.roots];
    this.#left = plan.nodes.length;
  }

  /** The nodes that became ready since the last call. They count as running from now on. */
  takeReady(): PlanNode[] {
    const taken = this.#ready;
    this.#ready = [];
    return taken.map((id) => {
      this.#states.set(id, "running");
      return this.#node(id);
    });
  }

  /**
   * Settles a running node with its active handles ([] for a skipped node or one that chose no branch), and returns the nodes that are
   * skipped as a result.
   */
  settle(id: string, handles: readonly string[]): PlanNode[] {
    if (this.#states.get(id) !== "running")
      throw new Error(`node ${id} is ${this.#states.get(id) ?? "unknown"}, not running`);
    this.#states.set(id, "settled");
    this.#handles.set(id, handles);
    this.#left -= 1;
    const skipped: PlanNode[] = [];
    // Iterative, because a chain of skipped nodes may be a thousand long.
    const edges = (this.#index.outgoing.get(id) ?? []).map((edge) => ({
      edge,
      live: handles.includes(edge.source_handle),
    }));
    for (let next = edges.pop(); next; next = edges.pop()) {
      const { target } = next.edge;
      const open = this.#open.get(target);
      if (!open) continue;
      open.unsettled -= 1;
      open.live ||= next.live;
      if (open.unsettled > 0) continue;
      if (open.live) {
        this.#states.set(target, "ready");
        this.#ready.push(target);
      } else {
        this.#states.set(target, "skipped");
        this.#left -= 1;
        skipped.push(this.#node(target));
        for (const edge of this.#index.outgoing.get(target) ?? []) edges.push({ edge, live: false });
      }
    }
    return skipped;
  }

  /** Whether every node is settled or skipped. */
  get done(): boolean {
    return this.#left === 0;
  }

  stateOf(id: string): WalkState | undefined {
    return this.#states.get(id);
  }

  /** The nodes from which an active edge leads to `id`, in the order of the flow's edges. */
  liveSources(id: string): string[] {
    const edges = this.#index.incoming.get(id) ?? [];
    return edges
      .filter((edge) => this.#handles.get(edge.source)?.includes(edge.source_handle))
      .map((edge) => edge.source);
  }

  #node(id: string): PlanNode {
    const node = this.#index.nodes.get(id);
    if (!node) throw new Error(`no node ${id} in the plan`);
    return node;
  }
}
