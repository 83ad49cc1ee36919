import type { Config } from "../../config.ts";
import { ValidationProblem, notFound } from "../../domain/errors.ts";
import { contentHash } from "../../domain/flow/definition/content-hash.ts";
import type { FlowDefinition } from "../../domain/flow/definition/definition.ts";
import { DEFAULT_FLOW_LIMITS, MAX_SUBFLOW_DEPTH } from "../../domain/flow/definition/limits.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import { nodePath, type FlowProblem } from "../../domain/flow/validate/problems.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Evaluation } from "../../platform/evaluation/evaluation.ts";
import type { Db } from "../../stores/db.ts";
import { knowledgeProblems } from "../knowledge/flow-references.ts";
import {
  findDeadReferences,
  findFlowVersionByContent,
  insertFlowVersion,
} from "../../stores/projects/flow-versions.ts";
import type { FlowVersionHead } from "../../stores/projects/flow-versions.ts";
import { lockProject, publishVersion, takeNextVersion } from "../../stores/projects/projects.ts";

/** What a flow may be made of, by configuration. */
export function flowLimits(config: Config): FlowLimits {
  return {
    ...DEFAULT_FLOW_LIMITS,
    max_nodes: config.MILLRACE_MAX_NODES,
    max_iterations: config.MILLRACE_MAX_ITERATIONS,
    max_timeout_seconds: config.MILLRACE_MAX_RUN_TIMEOUT_SECONDS,
    max_input_bytes: config.MILLRACE_INPUT_LIMIT_BYTES,
  };
}

export interface ReadyFlow {
  readonly definition: FlowDefinition;
  readonly plan: Plan;
}

/** The flow of a request, checked and compiled. Throws 422 with every problem: as issues at `["body", "flow", ...]` and as `problems`. */
export async function requireValidFlow(
  evaluation: Evaluation,
  orgId: string,
  flow: unknown,
  limits: FlowLimits,
): Promise<ReadyFlow> {
  const checked = await evaluation.flow(orgId, flow, limits);
  if (!checked.valid) throw invalidFlow(checked.problems);
  return checked;
}

/** Whether a problem keeps its flow from being deployed. */
export function isError({ severity }: FlowProblem): boolean {
  return severity === "error";
}

function invalidFlow(problems: readonly FlowProblem[]): ValidationProblem {
  const issues = problems
    .filter(isError)
    .map((problem) => ({ loc: ["body", "flow", ...problem.path], msg: problem.message, type: problem.code }));
  return new ValidationProblem(issues, { problems });
}

export interface Deployment {
  readonly orgId: string;
  readonly projectId: string;
  readonly flow: ReadyFlow;
  readonly notes: string;
  readonly publish: boolean;
  readonly createdBy: string;
}

/**
 * Adds a version to a project, or finds the one that has the same content already, in the caller's transaction. Throws 404
 * for an unknown project, 422 for a sub-flow or a knowledge base that does not exist.
 */
export async function deployFlow(
  db: Db,
  deployment: Deployment,
): Promise<{ version: FlowVersionHead; created: boolean }> {
  const { orgId, projectId, flow, notes, publish, createdBy } = deployment;
  const project = await lockProject(db, projectId);
  if (!project) throw notFound("project");
  const content_hash = contentHash(flow.definition);
  const unknownBases = await knowledgeProblems(db, flow.definition);
  if (unknownBases.length > 0) throw invalidFlow(unknownBases);
  const same = await findFlowVersionByContent(db, projectId, content_hash);
  if (!same) {
    const problems = await subflowProblems(db, flow.definition, projectId);
    if (problems.some(isError)) throw invalidFlow(problems);
    const version = await takeNextVersion(db, projectId);
    await insertFlowVersion(db, {
      project_id: projectId,
      org_id: orgId,
      version,
      ...flow,
      content_hash,
      notes,
      created_by: createdBy,
    });
    if (publish) await publishVersion(db, projectId, version);
  } else if (publish) {
    await publishVersion(db, projectId, same.version);
  }
  const version = await findFlowVersionByContent(db, projectId, content_hash);
  if (!version) throw new Error("a version just written must be there");
  return { version, created: !same };
}

interface Reference {
  readonly project_id: string;
  readonly version: number;
  readonly node_id: string;
  readonly path: ReadonlyArray<string | number>;
}

/**
 * What only the database knows of a flow: which of the flows it calls are not there. `projectId`, where it is known, is the
 * project that the flow belongs to: calling that one is a warning.
 */
export async function subflowProblems(
  db: Db,
  definition: FlowDefinition,
  projectId: string | undefined,
): Promise<FlowProblem[]> {
  const references = referencesOf(definition, []);
  const askable = references.filter((reference) => isUuid(reference.project_id));
  const dead = new Set(references.filter((reference) => !isUuid(reference.project_id)));
  for (const position of askable.length > 0 ? await findDeadReferences(db, askable) : []) {
    const reference = askable[position];
    if (reference) dead.add(reference);
  }
  const place = ({ path, node_id }: Reference) => ({
    node_id,
    node_path: nodePath(definition, path),
    path: [...path, "config", "project_id"],
  });
  const unknown = [...dead].map((reference): FlowProblem => {
    const missing = reference.version === -1 ? "" : `, or it has no version ${reference.version}`;
    const message = `There is no such project${missing}`;
    return { ...place(reference), code: "unknown_project", severity: "error", message, hint: null };
  });
  const own = references.filter(({ project_id }) => project_id.toLowerCase() === projectId);
  const circular = own.map((reference): FlowProblem => {
    const message = `The flow calls itself: sub-flows may be nested ${MAX_SUBFLOW_DEPTH} deep, beyond that a run fails`;
    const hint =
      "Give the node a skip_if or a condition before it that ends the calls; to repeat something, use a loop";
    return { ...place(reference), code: "calls_itself", severity: "warning", message, hint };
  });
  return [...unknown, ...circular];
}

function referencesOf(
  graph: { readonly nodes: readonly unknown[] },
  path: ReadonlyArray<string | number>,
): Reference[] {
  return graph.nodes.flatMap((raw, index) => {
    const node = raw as {
      id: string;
      type: string;
      config?: { project_id?: unknown; version?: unknown; flow?: { nodes: readonly unknown[] } };
    };
    const place = [...path, "nodes", index];
    if (node.type === "subflow") {
      const { project_id, version } = node.config ?? {};
      return [
        {
          project_id: String(project_id),
          version: typeof version === "number" ? version : -1,
          node_id: node.id,
          path: place,
        },
      ];
    }
    return node.config?.flow ? referencesOf(node.config.flow, [...place, "config", "flow"]) : [];
  });
}
