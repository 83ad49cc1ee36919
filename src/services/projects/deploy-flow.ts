import type { Config } from "../../config.ts";
import { keptRights } from "../../domain/accounts/kept-rights.ts";
import { runnableProjects, type Principal } from "../../domain/accounts/principal.ts";
import { ValidationProblem, required } from "../../domain/errors.ts";
import { contentHash } from "../../domain/flow/definition/content-hash.ts";
import type { FlowDefinition } from "../../domain/flow/definition/definition.ts";
import { DEFAULT_FLOW_LIMITS, MAX_SUBFLOW_DEPTH, type FlowLimits } from "../../domain/flow/definition/limits.ts";
import type { FlowProblem } from "../../domain/flow/validate/problems.ts";
import { PRODUCTION } from "../../domain/projects/environments.ts";
import { flowAsks, flowReferences } from "../../domain/flow/references.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Evaluation } from "../../platform/evaluation/evaluation.ts";
import type { Db } from "../../stores/db.ts";
import { insertFlowReferences } from "../../stores/projects/flow-references.ts";
import {
  findFlowVersionByContent,
  insertFlowVersion,
  keepVersionRights,
  redrawVersion,
  type FlowVersionHead,
} from "../../stores/projects/flow-versions.ts";
import { lockProject, takeNextVersion } from "../../stores/projects/projects.ts";
import { actionProblems, assigneeProblems } from "./action-problems.ts";
import { promote } from "./promote.ts";
import { referenceProblems } from "./flow-references.ts";

/** The configured limits of a flow's contents. */
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

/** The location of the flow in request bodies. */
const IN_BODY = ["body", "flow"];

/** The flow of a request, checked and compiled. Throws 422 with every problem: as issues at `loc` and as `problems`. */
export async function requireValidFlow(
  evaluation: Evaluation,
  orgId: string,
  flow: unknown,
  limits: FlowLimits,
  loc: readonly string[] = IN_BODY,
): Promise<ReadyFlow> {
  const checked = await evaluation.flow(orgId, flow, limits);
  if (!checked.valid) throw invalidFlow(checked.problems, loc);
  return checked;
}

/** Whether a problem prevents its flow from being deployed. */
export function isError({ severity }: FlowProblem): boolean {
  return severity === "error";
}

/** The 422 for a flow with these problems. `loc`: the location of the flow, or of its reference, in the request. */
export function invalidFlow(problems: readonly FlowProblem[], loc: readonly string[] = IN_BODY): ValidationProblem {
  const issues = problems
    .filter(isError)
    .map((problem) => ({ loc: [...loc, ...problem.path], msg: problem.message, type: problem.code }));
  return new ValidationProblem(issues, { problems });
}

export interface Deployment {
  readonly projectId: string;
  readonly flow: ReadyFlow;
  readonly notes: string;
  readonly publish: boolean;
  /** Whether a version with the same content gets the layout and notes of this flow. */
  readonly redraws?: boolean;
  /** The caller, whose rights the version keeps. */
  readonly deployer: Principal;
  /** The location of the flow in the request; default `["body", "flow"]`. */
  readonly loc?: readonly string[];
}

/**
 * Adds a version to a project in the caller's transaction, or finds the one with the same content. Throws 404 for an
 * unknown project, and 422 if a referenced resource does not exist for the deployer. The version keeps the rights of
 * the person who last deployed its content.
 */
export async function deployFlow(
  db: Db,
  deployment: Deployment,
): Promise<{ version: FlowVersionHead; created: boolean }> {
  const { projectId, flow, notes, publish, deployer } = deployment;
  const { org_id } = deployer;
  required(await lockProject(db, projectId), "project");
  const content_hash = contentHash(flow.definition);
  const problems = await problemsOfOthers(db, flow.definition, projectId, runnableProjects(deployer));
  if (problems.some(isError)) throw invalidFlow(problems, deployment.loc);
  const same = await findFlowVersionByContent(db, projectId, content_hash);
  if (!same) {
    const whose = { project_id: projectId, org_id, version: await takeNextVersion(db, projectId) };
    const made = { created_by: deployer.id, rights: keptRights(deployer) };
    await insertFlowVersion(db, { ...whose, ...flow, ...made, content_hash, notes });
    await insertFlowReferences(db, whose, flowReferences(flow.definition));
  } else {
    await keepVersionRights(db, same, keptRights(deployer));
    if (deployment.redraws) await redrawVersion(db, same, { definition: flow.definition, notes });
  }
  const version = await findFlowVersionByContent(db, projectId, content_hash);
  if (!version) throw new Error("a version just written must be there");
  if (!publish) return { version, created: !same };
  const wanted = { project_id: projectId, environment: PRODUCTION, version: version.version, notes };
  await promote(db, { ...wanted, promoter: deployer });
  return { version: { ...version, published: true }, created: !same };
}

/**
 * Problems found in the database: references to resources and users that do not exist. `projectId`, if known, is the
 * flow's own project; calling it is a warning. Projects outside `runnable` count as missing.
 */
export async function problemsOfOthers(
  db: Db,
  definition: FlowDefinition,
  projectId: string | undefined,
  runnable: readonly string[] | undefined,
): Promise<FlowProblem[]> {
  const references = flowReferences(definition);
  // Only subflow calls, which wait for outputs, have a version; runs that actions start have another limit of nesting.
  const own = references.filter(
    ({ kind, id, version }) => kind === "project" && id === projectId && version !== undefined,
  );
  const circular = own.map(({ node_id, node_path, path }): FlowProblem => {
    const message = `The flow calls itself. A run fails when subflows are nested more than ${MAX_SUBFLOW_DEPTH} levels`;
    const hint = "Add a skip_if or a condition before the node so that the calls end; to repeat something, use a loop";
    return { node_id, node_path, path, code: "calls_itself", severity: "warning", message, hint };
  });
  return [
    ...(await referenceProblems(db, references, runnable)),
    ...(await actionProblems(db, references)),
    ...(await assigneeProblems(db, flowAsks(definition), projectId)),
    ...circular,
  ];
}
