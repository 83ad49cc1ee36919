import { describeFlow, type FlowIo } from "../../domain/flow/io/io-schema.ts";
import type { CalledFlow } from "../../domain/flow/nodes/called-flow.ts";
import type { Db } from "../../stores/db.ts";
import { findCalledVersions } from "../../stores/projects/flow-versions.ts";
import { findProject, type Project } from "../../stores/projects/projects.ts";
import { definitionsIn } from "../../stores/projects/published-flows.ts";

type Limits = { readonly max_input_bytes: number };

/** The inputs and outputs of called flows, read in one query, by the position of the call. Flows that do not exist are left out. */
export async function describeCalledFlows(
  db: Db,
  calls: readonly CalledFlow[],
  limits: Limits,
): Promise<ReadonlyMap<number, FlowIo>> {
  const found = calls.length === 0 ? [] : await findCalledVersions(db, calls);
  return new Map(
    [...found].map(([at, { definition, ...identity }]) => [at, describeFlow(definition, identity, limits)]),
  );
}

/**
 * The project of a called flow, with the flow's inputs and outputs. Null if the project is not found or has no
 * such version.
 */
export async function findCalledFlow(
  db: Db,
  call: CalledFlow,
  limits: Limits,
): Promise<{ readonly project: Project; readonly io: FlowIo } | null> {
  const project = await findProject(db, call.project_id);
  const io = (await describeCalledFlows(db, [call], limits)).get(0);
  return project && io ? { project, io } : null;
}

/** The inputs of a project's flow in an environment, and which of them are required. Null if it has no version there. */
export async function inputsIn(
  db: Db,
  projectId: string,
  environment: string,
): Promise<{ readonly known: readonly string[]; readonly required: readonly string[] } | null> {
  const [flow] = await definitionsIn(db, environment, [projectId]);
  if (flow === undefined) return null;
  const { properties = {}, required = [] } = describeFlow(flow.definition, flow, { max_input_bytes: 1 }).inputs;
  return { known: Object.keys(properties as object), required: required as readonly string[] };
}
