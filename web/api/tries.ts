import { api, unwrap, type Schemas } from "./client.ts";
import { readIo } from "./flow-io.ts";
import { newKey } from "./intent.ts";
import { ApiProblem } from "./problem.ts";
import type { RunWithNodes } from "./runs.ts";

export type FlowIo = Schemas["FlowIo"];

/**
 * Inputs and outputs of a project's draft as it is saved, or of the published version if there is no draft. Throws a 422 if the draft is not
 * valid.
 */
export async function readDraftIo(project_id: string): Promise<FlowIo> {
  try {
    return await readIo(project_id, { draft: true });
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status !== 404) throw error;
    return readIo(project_id, { version: -1 });
  }
}

/** What a run of a draft is asked to do. */
export interface TryRequest {
  readonly project_id: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly user_id?: string;
  /** Path of the node whose value is wanted. */
  readonly until?: string;
  readonly pinned?: Readonly<Record<string, unknown>>;
  /** By node, the run that the pinned value was copied from. */
  readonly pinned_from?: Readonly<Record<string, string>>;
}

/** Runs the saved draft. Each call is a run of its own, also with the same inputs. */
export const startTry = (request: TryRequest) =>
  unwrap(
    api.POST("/v2/runs", {
      params: { header: { "Idempotency-Key": newKey() } },
      body: { ...request, draft: true } as Schemas["RunCreate"],
    }),
  );

/** A run with the values of its nodes; long values are truncated. */
export const readTry = (run_id: string): Promise<RunWithNodes> =>
  unwrap(
    api.GET("/v2/runs/{run_id}", { params: { path: { run_id }, query: { expand: "nodes" as const } } }),
  ) as Promise<RunWithNodes>;

/** Largest page of a value (bytes). */
const PAGE_BYTES = 1024 * 1024;

/** The whole output of a node, however long it is. */
export async function readWholeOutput(run_id: string, path: string): Promise<unknown> {
  let text = "";
  for (let offset: number | null = 0; offset !== null;) {
    const query = { path, member: "output" as const, offset, limit: PAGE_BYTES };
    const page: Schemas["NodeValuePage"] = await unwrap(
      api.GET("/v2/runs/{run_id}/node/value", { params: { path: { run_id }, query } }),
    );
    text += page.text;
    offset = page.next_offset;
  }
  return JSON.parse(text);
}
