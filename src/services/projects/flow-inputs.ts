import { describeFlow } from "../../domain/flow/io/io-schema.ts";
import type { Db } from "../../stores/db.ts";
import { definitionsIn } from "../../stores/projects/published-flows.ts";

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
