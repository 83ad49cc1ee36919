import type { Config } from "../../config.ts";
import type { FlowModel } from "../../domain/flow/references.ts";
import type { FlowProblem } from "../../domain/flow/validate/problems.ts";
import { chooseModel, MODEL_WAY_OUT } from "../../domain/models/choose.ts";
import { PRICE_WAY_OUT, priceOf, type PriceTable } from "../../domain/models/prices.ts";
import type { Db } from "../../stores/db.ts";
import { getSettings } from "../../stores/models/settings.ts";

/**
 * A warning for each node that currently has no model and, if the flow limits its cost, for each node whose model has
 * no price.
 */
export async function modelProblems(
  db: Db,
  { MILLRACE_MODEL_URL: url, MILLRACE_MODEL: model }: Pick<Config, "MILLRACE_MODEL_URL" | "MILLRACE_MODEL">,
  asked: readonly FlowModel[],
  limited: { readonly max_cost_usd: number | undefined; readonly prices: PriceTable },
): Promise<FlowProblem[]> {
  if (asked.length === 0) return [];
  const defaults = { organisation: await getSettings(db), installation: { url, model } };
  return asked.flatMap((choice): FlowProblem[] => {
    const { node_id, node_path, path } = choice;
    const place = { node_id, node_path, path, severity: "warning" as const };
    const chosen = chooseModel(choice, defaults);
    if (chosen === null) {
      const message = "No model is configured for this node: it would fail";
      return [{ ...place, code: "model_not_configured", message, hint: MODEL_WAY_OUT }];
    }
    if (limited.max_cost_usd === undefined) return [];
    const names = new Set([chosen.model, ...(choice.fallback_models ?? [])]);
    return [...names].flatMap((name): FlowProblem[] => {
      if (priceOf(limited.prices, name) !== null) return [];
      const message = `Model ${name} has no price, so settings.max_cost_usd cannot be enforced: the node would fail when it calls this model`;
      return [{ ...place, code: "model_not_priced", message, hint: PRICE_WAY_OUT }];
    });
  });
}
