import { EvaluatorError } from "../../domain/evals/evaluators/kind.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import type { JudgeModel } from "../evals/judge.ts";
import type { ModelCaller } from "./call-model.ts";

/** Lets evaluators use an organisation's models as judges. The calls are recorded with their cost. */
export function createJudgeModel(models: ModelCaller): JudgeModel {
  return {
    async generate({ org_id, connection_id, model, system, prompt, temperature, max_tokens, signal }) {
      try {
        const { text, usage, finish_reason } = await models.call({
          org_id,
          project_id: null,
          run_id: null,
          path: "llm_judge",
          attempt: 1,
          step: 1,
          repeated: false,
          choice: { model, connection_id },
          request: {
            messages: [
              { role: "system", content: system },
              { role: "user", content: prompt },
            ],
            temperature,
            max_tokens,
          },
          signal: signal ?? new AbortController().signal,
        });
        return { text, usage: { ...usage }, isCut: finish_reason === "length" };
      } catch (error) {
        if (!(error instanceof NodeFailure)) throw error;
        throw new EvaluatorError(error.code, error.message, { cause: error });
      }
    },
  };
}
