import { createHash } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { uuid7Of } from "../../src/domain/uuid.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { MAX_SUBFLOW_DEPTH } from "../../src/domain/flow/definition/limits.ts";
import { validateRunInputs } from "../../src/domain/flow/io/run-inputs.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { RunInput } from "../../src/domain/runs/run.ts";
import type { NodeConfigs } from "../../src/domain/flow/nodes/index.ts";
import type { CreateChildRunInput } from "../../src/domain/runs/run-report.ts";
import { loadValue } from "../../src/platform/blobs/blobs.ts";
import type { BlobStore } from "../../src/platform/blobs/blobs.ts";
import { newRunRow, startInput, storeInputs } from "../../src/services/runs/create-run.ts";
import type { RunLimits } from "../../src/services/runs/create-run.ts";
import type { Database } from "../../src/stores/db.ts";
import { getProject } from "../../src/services/projects/projects.ts";
import { lockRun } from "../../src/stores/runs/run-record.ts";
import { findChildRun, insertRun } from "../../src/stores/runs/runs.ts";
import type { PlanCache } from "../../src/services/projects/plans.ts";
import type { RunRecorder } from "../../src/services/runs/run-recorder.ts";

export interface ChildRunDeps {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly plans: PlanCache;
  readonly recorder: RunRecorder;
  readonly limits: RunLimits & { readonly max_input_bytes: number };
}

/** Inserts the run of a sub-flow: however often its node is tried, by however many workers, there is one. */
export function createChildRuns({ db, blobs, plans, recorder, limits }: ChildRunDeps) {
  return async function createChildRun(input: CreateChildRunInput): Promise<Omit<RunInput, "plan">> {
    const { run, depth, progress, flush } = input;
    await recorder.record({ run, progress, nodes: flush });
    if (depth > MAX_SUBFLOW_DEPTH) {
      throw new NodeFailure(
        "subflow_too_deep",
        `Sub-flows may be nested ${MAX_SUBFLOW_DEPTH} deep. Does this flow call itself?`,
      );
    }
    const id = childRunId(run.run_id, input.path);
    const known = await db.org(run.org_id, (connection) =>
      findChildRun(connection, run.run_id, id.slice(-MADE_OF_NAMES)),
    );
    if (known) return startInput(known);
    const node = (await plans.get(run)).node(input.plan_path);
    const { project_id, version: asked } = input.called ?? (node.config as unknown as NodeConfigs["subflow"]);
    const project = await getProject(db, run.org_id, project_id);
    const version = asked === -1 ? project?.published_version : asked;
    if (!project || typeof version !== "number") {
      throw new NodeFailure("subflow_not_found", `The sub-flow ${project_id} is gone or has no published version.`);
    }
    const { plan } = await plans.get({ org_id: run.org_id, project_id, flow_version: version });
    const body = await loadValue(blobs, input.inputs);
    const { inputs, issues } = validateRunInputs(
      plan,
      body,
      { max_input_bytes: limits.max_input_bytes },
      { loc: [], reserved: [] },
    );
    if (issues.length > 0) {
      const places = issues.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
      throw new NodeFailure("subflow_inputs_invalid", `The sub-flow does not take these inputs: ${places}`);
    }
    const row = newRunRow(
      {
        org_id: run.org_id,
        run_id: id,
        project_id,
        version,
        plan,
        user_id: input.user_id,
        metadata: input.metadata as JsonObject,
        run_type: "sub_workflow",
        ran_by_type: "system",
        ran_by_id: null,
        parent_run_id: run.run_id,
      },
      await storeInputs(blobs, run.org_id, inputs),
      limits,
      depth,
    );
    const earlier = await db.orgTransaction(run.org_id, async (connection) => {
      // The worker that tried before may be alive after all.
      await lockRun(connection, run.run_id);
      const found = await findChildRun(connection, run.run_id, id.slice(-MADE_OF_NAMES));
      if (!found) await insertRun(connection, row);
      return found;
    });
    return startInput(earlier ?? row);
  };
}

/** Characters at the end of a child's id that tell which node of which run called it. */
const MADE_OF_NAMES = 22;

/** An id with the time of now, as those of all runs have it, and the rest made of who calls: a second try finds the first. */
function childRunId(parentRunId: string, path: string): string {
  return uuid7Of(uuidv7(), createHash("sha256").update(`${parentRunId} ${path}`).digest("hex"));
}
