import type { Config } from "../../config.ts";
import type { FlowModel } from "../../domain/flow/references.ts";
import type { FlowProblem } from "../../domain/flow/validate/problems.ts";
import { chooseModel, MODEL_WAY_OUT } from "../../domain/models/choose.ts";
import type { Db } from "../../stores/db.ts";
import { getSettings } from "../../stores/models/settings.ts";

/** A warning for each node of a flow that would find no model to ask as things are. */
export async function modelProblems(
  db: Db,
  { MILLRACE_MODEL_URL: url, MILLRACE_MODEL: model }: Pick<Config, "MILLRACE_MODEL_URL" | "MILLRACE_MODEL">,
  asked: readonly FlowModel[],
): Promise<FlowProblem[]> {
  if (asked.length === 0) return [];
  const defaults = { organisation: await getSettings(db), installation: { url, model } };
  return asked
    .filter((choice) => chooseModel(choice, defaults) === null)
    .map(({ node_id, node_path, path }) => {
      const message = "No model is configured for this node: it would fail";
      return {
        node_id,
        node_path,
        path,
        code: "model_not_configured",
        severity: "warning",
        message,
        hint: MODEL_WAY_OUT,
      };
    });
}
