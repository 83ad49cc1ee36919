import { isWithin } from "../../domain/accounts/kept-rights.ts";
import { visibleProjects } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import { opened } from "../../domain/flow/validate/follow-schema.ts";
import { keyOfOutput, outputReferences } from "../../domain/flow/validate/output-schemas.ts";
import type { OutputReference, OutputsOfOthers } from "../../domain/flow/validate/output-schemas.ts";
import type { JsonObject } from "../../domain/json.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Database, Db } from "../../stores/db.ts";
import { findAction, findProvider } from "../providers/providers.ts";
import { findCalledFlow } from "./called-flow.ts";

/** Most actions and called flows of one flow that are looked up; nothing is said of the values of others. */
const MAX_LOOKED_UP = 50;

/** What the actions and flows that a flow names return, as far as the caller may see them. The flow may be invalid. */
export async function outputsOfOthers(
  db: Database,
  caller: Principal,
  flow: unknown,
  limits: FlowLimits,
): Promise<OutputsOfOthers> {
  const references = outputReferences(flow, MAX_LOOKED_UP);
  if (references.length === 0) return {};
  const among = visibleProjects(caller);
  return db.org(caller.org_id, async (connection) => {
    const found: Array<[string, JsonObject]> = [];
    for (const reference of references) {
      const schema =
        reference.kind === "action"
          ? await actionOutput(connection, reference)
          : isWithin(among, reference.id) && (await flowOutput(connection, reference, limits));
      if (schema) found.push([keyOfOutput(reference), schema]);
    }
    return Object.fromEntries(found);
  });
}

async function actionOutput(db: Db, { id }: OutputReference): Promise<JsonObject | undefined> {
  const [providerId = "", ...rest] = id.split("/");
  const provider = await findProvider(db, providerId);
  const action = provider && (await findAction(db, provider, rest.join("/")));
  // A service may answer with more than its description says.
  return action ? opened(action.output_schema) : undefined;
}

async function flowOutput(
  db: Db,
  { id: project_id, version }: OutputReference,
  limits: FlowLimits,
): Promise<JsonObject | undefined> {
  if (!isUuid(project_id)) return undefined;
  const called = await findCalledFlow(db, { project_id, version: Number(version ?? -1) }, limits);
  if (called === null) return undefined;
  const { $schema: _, ...outputs } = called.io.outputs;
  return outputs;
}
