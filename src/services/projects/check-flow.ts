import type { Config } from "../../config.ts";
import { runnableProjects } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { flowModels } from "../../domain/flow/references.ts";
import type { CheckedFlow } from "../../domain/flow/validate/validate.ts";
import type { Evaluation } from "../../platform/evaluation/evaluation.ts";
import type { Database } from "../../stores/db.ts";
import { modelProblems } from "../models/model-problems.ts";
import { readPrices } from "../models/read-prices.ts";
import { outputsOfOthers } from "./outputs-of-others.ts";
import { flowLimits, isError, problemsOfOthers } from "./deploy-flow.ts";
import { secretProblems } from "./secret-problems.ts";

export interface FlowCheckDeps {
  readonly config: Config;
  readonly db: Database;
  readonly evaluation: Evaluation;
}

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
