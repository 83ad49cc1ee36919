import { isWithin } from "../../domain/accounts/kept-rights.ts";
import { visibleProjects } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import { opened } from "../../domain/flow/validate/follow-schema.ts";
import { keyOfOutput, outputReferences } from "../../domain/flow/validate/output-schemas.ts";
import type { OutputsOfOthers } from "../../domain/flow/validate/output-schemas.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Database } from "../../stores/db.ts";
import { findActions } from "../providers/providers.ts";
import { describeCalledFlows } from "./called-flow.ts";

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
  const actions = references.filter(({ kind }) => kind === "action");
  const calls = references.filter(({ kind, id }) => kind === "project" && isUuid(id) && isWithin(among, id));
  return db.org(caller.org_id, async (connection) => {
    const found = await findActions(
      connection,
      actions.map(({ id }) => id),
    );
    const flows = await describeCalledFlows(
      connection,
      calls.map(({ id, version, environment }) => ({ project_id: id, version: Number(version ?? -1), environment })),
      limits,
    );
    const schemas = [
      ...actions.map((reference) => {
        const action = found.get(reference.id)?.action;
        // A service may answer with more than its description says.
        return [reference, action ? opened(action.output_schema) : undefined] as const;
      }),
      ...calls.map((reference, at) => {
        const { $schema: _, ...outputs } = flows.get(at)?.outputs ?? {};
        return [reference, flows.has(at) ? outputs : undefined] as const;
      }),
    ];
    return Object.fromEntries(
      schemas.flatMap(([reference, schema]) => (schema === undefined ? [] : [[keyOfOutput(reference), schema]])),
    );
  });
}
