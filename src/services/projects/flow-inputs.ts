import { describeFlow } from "../../domain/flow/io/io-schema.ts";
import type { Db } from "../../stores/db.ts";
import { publishedDefinitions } from "../../stores/projects/published-flows.ts";

/** The inputs of a project's published flow, and which of them are required. Null if none is published. */
export async function publishedInputs(
  db: Db,
  projectId: string,
): Promise<{ readonly known: readonly string[]; readonly required: readonly string[] } | null> {
  const [flow] = await publishedDefinitions(db, [projectId]);
  if (flow === undefined) return null;
  const { properties = {}, required = [] } = describeFlow(flow.definition, flow, { max_input_bytes: 1 }).inputs;
  return { known: Object.keys(properties as object), required: required as readonly string[] };
}
