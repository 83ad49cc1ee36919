import { expect } from "vitest";
import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import { edges, flow as flowOf } from "../support/flows.ts";
import { replayAfterwards } from "../support/replayed-organisations.ts";
import { aMoment } from "../support/scratch.ts";
import { client, createOrganisation, service, type Service } from "../support/service.ts";
import type { TestClient } from "../support/client.ts";

type Node = Record<string, unknown> & { readonly id: string; readonly type: string };
type Graph = Pick<FlowDefinition, "nodes" | "edges">;

/** A flow of these nodes, with an empty configuration unless given; for edges see `edges`. */
export function flow(
  nodes: readonly Node[],
  paths: readonly string[],
  more: Record<string, unknown> = {},
): FlowDefinition {
  return flowOf({ ...nested(nodes, paths), ...more });
}

/** The nodes and edges of a nested flow. */
export function nested(nodes: readonly Node[], paths: readonly string[]): Graph {
  const configured = nodes.map((node) => ({ config: {}, ...node }));
  return { nodes: configured as unknown as Graph["nodes"], edges: edges(...paths) };
}

export interface NodeRun {
  readonly node_id: string;
  readonly type: string;
  readonly path: string;
  readonly state: string;
  readonly attempts: number;
  readonly inputs: unknown;
  readonly output: unknown;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly next_attempt_at: string | null;
  readonly reused: boolean;
}

export interface Run {
  readonly run_id: string;
  readonly state: string;
  readonly state_reason: string | null;
  // Outputs have every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly outputs: any;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly node_id: string | null;
    readonly attempt: number;
  } | null;
  readonly pauses: ReadonlyArray<{
    readonly pause_id: string;
    readonly form: unknown;
    readonly node_id: string;
    readonly path: string;
    readonly status: string;
    readonly kind: string;
  }>;
  readonly progress_data: Record<string, unknown>;
  readonly nodes: readonly NodeRun[];
}

/** A new organisation on a running installation, with helpers to run flows. */
export interface Bench {
  readonly org_id: string;
  readonly secretKey: string;
  readonly api: TestClient;
  deploy(definition: FlowDefinition): Promise<string>;
  /** Starts a run; returns immediately. */
  start(projectId: string, inputs?: Record<string, unknown>, more?: Record<string, unknown>): Promise<Run>;
  /** Waits until the run has finished or reaches `state`; returns it with its nodes. */
  until(runId: string, state?: string): Promise<Run>;
  /** Deploys a flow, runs it, and waits until the run has finished. */
  run(definition: FlowDefinition, inputs?: Record<string, unknown>, more?: Record<string, unknown>): Promise<Run>;
}

const ENDS = ["COMPLETED", "FAILED", "CANCELLED"];

export async function openBench(ownService?: Service): Promise<Bench> {
  const target = ownService ?? service();
  const { org_id, secretKey } = await createOrganisation(target);
  if (!ownService) replayAfterwards(org_id);
  const api = client(target, secretKey);
  const bench: Bench = {
    org_id,
    secretKey,
    api,
    async deploy(definition) {
      const { status, body } = await api.post("/v2/projects", { name: "test", flow: definition, publish: true });
      expect(status, JSON.stringify(body)).toBe(201);
      return body.project_id as string;
    },
    async start(project_id, inputs = {}, more = {}) {
      const { status, body } = await api.post("/v2/runs", { project_id, inputs, ...more });
      expect(status, JSON.stringify(body)).toBe(201);
      return body as Run;
    },
    async until(runId, state) {
      const since = Date.now();
      for (;;) {
        const { body } = await api.get(`/v2/runs/${runId}`, {
          query: { expand: "nodes", wait_seconds: state ? 0 : 10 },
        });
        const run = body as Run;
        if (run.state === state || (ENDS.includes(run.state) && (state === undefined || ENDS.includes(state))))
          return run;
        if (ENDS.includes(run.state) || Date.now() - since > 75_000) {
          throw new Error(`run ${runId} is ${run.state}, not ${state ?? "ended"}: ${JSON.stringify(run)}`);
        }
        await aMoment(since);
      }
    },
    async run(definition, inputs, more) {
      const { run_id } = await bench.start(await bench.deploy(definition), inputs, more);
      return bench.until(run_id);
    },
  };
  return bench;
}

/** The records of a run's nodes by path. */
export function nodesOf(run: Run): Record<string, NodeRun> {
  return Object.fromEntries(run.nodes.map((node) => [node.path, node]));
}
