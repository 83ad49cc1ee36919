import { z } from "zod";
import type { JsonObject } from "../../domain/json.ts";
import { seesSecrets } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { definitionShape } from "../../domain/evals/evaluator.ts";
import { EVALUATOR_TYPES } from "../../domain/evals/evaluators/index.ts";
import { maskLiterals } from "../../platform/logging/literal-secrets.ts";
import type { EvaluatorRow } from "../../stores/evals/evaluators.ts";
import { asDeclared } from "../http/as-declared.ts";

const object = z.record(z.string(), z.unknown());

export const evaluatorSchema = z
  .object({
    evaluator_id: z.uuid(),
    name: z.string(),
    description: z.string(),
    type: z.enum(EVALUATOR_TYPES),
    config: object,
    ...definitionShape,
    version: z.int().describe("Number of the version. Every change increases it; experiments pin one."),
    template_id: z.string().nullable(),
    secret: z
      .string()
      .optional()
      .describe(
        "Only for webhook evaluators, in the response that creates one: its requests are signed with this secret, as webhooks are.",
      ),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "Evaluator" });

export function presentEvaluator(
  { secret: _sealed, definition, ...row }: EvaluatorRow,
  reader: Principal,
): z.infer<typeof evaluatorSchema> {
  const config = definition.config as JsonObject;
  const shown = seesSecrets(reader) ? config : maskLiterals(config);
  return asDeclared(evaluatorSchema, { ...definition, ...row, config: shown });
}
