import type { Config } from "../../config.ts";
import { ValidationProblem, required } from "../../domain/errors.ts";
import { contentHash } from "../../domain/flow/definition/content-hash.ts";
import type { FlowDefinition } from "../../domain/flow/definition/definition.ts";
import { DEFAULT_FLOW_LIMITS, MAX_SUBFLOW_DEPTH } from "../../domain/flow/definition/limits.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import type { FlowProblem } from "../../domain/flow/validate/problems.ts";
import { flowAsks, flowReferences } from "../../domain/flow/references.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Evaluation } from "../../platform/evaluation/evaluation.ts";
import type { Db } from "../../stores/db.ts";
import { insertFlowReferences } from "../../stores/projects/flow-references.ts";
import { findFlowVersionByContent, insertFlowVersion } from "../../stores/projects/flow-versions.ts";
import type { FlowVersionHead } from "../../stores/projects/flow-versions.ts";
import { lockProject, publishVersion, takeNextVersion } from "../../stores/projects/projects.ts";
import { actionProblems } from "./action-problems.ts";
import { assigneeProblems } from "./assignee-problems.ts";
import { referenceProblems } from "./flow-references.ts";

/** What a flow may contain, by configuration. */
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
  /** The projects that the caller may see; undefined: all. */
  readonly visible: readonly string[] | undefined;
}

/**
 * Adds a version to a project in the caller's transaction, or finds the one with the same content. Throws 404 for an
 * unknown project, and 422 if something that the flow refers to does not exist.
 */
export async function deployFlow(
  db: Db,
  deployment: Deployment,
): Promise<{ version: FlowVersionHead; created: boolean }> {
  const { orgId, projectId, flow, notes, publish, createdBy, visible } = deployment;
  required(await lockProject(db, projectId), "project");
  const content_hash = contentHash(flow.definition);
  const problems = await problemsOfOthers(db, flow.definition, projectId, visible);
  if (problems.some(isError)) throw invalidFlow(problems);
  const same = await findFlowVersionByContent(db, projectId, content_hash);
  if (!same) {
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
    const whose = { project_id: projectId, org_id: orgId, version };
    await insertFlowReferences(db, whose, flowReferences(flow.definition));
    if (publish) await publishVersion(db, projectId, version);
  } else if (publish) {
    await publishVersion(db, projectId, same.version);
  }
  const version = await findFlowVersionByContent(db, projectId, content_hash);
  if (!version) throw new Error("a version just written must be there");
  return { version, created: !same };
}

/**
 * Problems that only the database can tell: references to things and people that do not exist. `projectId`, if known,
 * is the flow's own project; calling it is a warning. Projects outside `visible` count as missing.
 */
export async function problemsOfOthers(
  db: Db,
  definition: FlowDefinition,
  projectId: string | undefined,
  visible: readonly string[] | undefined,
): Promise<FlowProblem[]> {
  const references = flowReferences(definition);
  const own = references.filter(({ kind, id }) => kind === "project" && id === projectId);
  const circular = own.map(({ node_id, node_path, path }): FlowProblem => {
    const message = `The flow calls itself: sub-flows may be nested ${MAX_SUBFLOW_DEPTH} deep, beyond that a run fails`;
    const hint =
      "Give the node a skip_if or a condition before it that ends the calls; to repeat something, use a loop";
    return { node_id, node_path, path, code: "calls_itself", severity: "warning", message, hint };
  });
  return [
    ...(await referenceProblems(db, references, visible)),
    ...(await actionProblems(db, references)),
    ...(await assigneeProblems(db, flowAsks(definition), projectId)),
    ...circular,
  ];
}
