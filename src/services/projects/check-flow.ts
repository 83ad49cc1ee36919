import { runnableProjects, visibleProjects, type Principal } from "../../domain/accounts/principal.ts";
import { flowModels } from "../../domain/flow/references.ts";
import type { CheckedFlow } from "../../domain/flow/validate/validate.ts";
import { modelProblems } from "../models/model-problems.ts";
import { readPrices } from "../models/read-prices.ts";
import { flowLimits, isError, problemsOfOthers } from "./deploy-flow.ts";
import type { Parts } from "../parts.ts";
import type { FlowDefinition } from "../../domain/flow/definition/definition.ts";
import { nodePath, type FlowProblem } from "../../domain/flow/validate/problems.ts";
import type { JsonObject } from "../../domain/json.ts";
import { literalHeaders } from "../../platform/logging/literal-secrets.ts";
import { isWithin } from "../../domain/accounts/kept-rights.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import { opened } from "../../domain/flow/validate/follow-schema.ts";
import { keyOfOutput, outputReferences, type OutputsOfOthers } from "../../domain/flow/validate/output-schemas.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Database } from "../../stores/db.ts";
import { findActions } from "../providers/providers.ts";
import { describeCalledFlows } from "./called-flow.ts";

type FlowCheckDeps = Parts<"db" | "evaluation" | "config">;

/**
 * Finds every problem of a flow, including references to resources that the caller's organisation does not have.
 * `projectId`: the flow's project.
 */
export type FlowCheck = (
  caller: Principal,
  flow: unknown,
  projectId: string | undefined,
  options?: { readonly scope?: boolean },
) => Promise<CheckedFlow>;

export function createFlowCheck({ config, db, evaluation }: FlowCheckDeps): FlowCheck {
  const limits = flowLimits(config);
  const prices = readPrices(config.MILLRACE_MODEL_PRICES_FILE);
  return async (caller, flow, projectId, options) => {
    const outputs = await outputsOfOthers(db, caller, flow, limits);
    const checked = await evaluation.flow(caller.org_id, flow, limits, { ...options, outputs });
    if (!checked.valid) return checked;
    const { definition } = checked;
    const ofOthers = await db.org(caller.org_id, (connection) =>
      Promise.all([
        problemsOfOthers(connection, definition, projectId, runnableProjects(caller)),
        modelProblems(connection, config, flowModels(definition), {
          max_cost_usd: definition.settings?.max_cost_usd,
          prices,
        }),
      ]),
    );
    const problems = [...checked.problems, ...secretProblems(definition), ...ofOthers.flat()];
    return problems.some(isError)
      ? { valid: false, problems, ...(checked.scope && { scope: checked.scope }) }
      : { ...checked, problems };
  };
}

/** A warning for each header with a credential that was written into the flow. */
function secretProblems(definition: FlowDefinition): FlowProblem[] {
  return literalHeaders(definition as unknown as JsonObject).map((path): FlowProblem => {
    const node_path = nodePath(definition, path);
    return {
      code: "secret_in_flow",
      severity: "warning",
      node_id: node_path?.split("/").at(-1) ?? null,
      node_path,
      path,
      message: `Header ${path.at(-1)} contains a credential. Every flow version stores it and every editor can read it`,
      hint: "Store it in a connection (POST /v2/connections) of the provider http, and send the request with an action node",
    };
  });
}

/** Most actions and called flows of one flow that are looked up; nothing is said of the values of others. */
const MAX_LOOKED_UP = 50;

/** What the actions and flows that a flow names return, as far as the caller may see them. The flow may be invalid. */
async function outputsOfOthers(
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
    const ids = actions.map(({ id }) => id);
    const found = await findActions(connection, ids);
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
