// Entry of the evaluation's child process: expressions, templates, forms, flows and documents whose cost the caller controls.
import { setPriority } from "node:os";
import { scoreLocally } from "../../domain/evals/evaluator.ts";
import { evaluatePart, evaluateSources } from "../../domain/flow/expressions/evaluate.ts";
import { checkAnswer, checkValues } from "../../domain/flow/forms/form.ts";
import { checkFlow } from "../../domain/flow/validate/validate.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import type { Json } from "../../domain/json.ts";
import { makeProvider } from "./make-provider.ts";
import { serveRequests } from "../children/serve.ts";
import { jsonText } from "../json/json-text.ts";
import type { EvaluationInputs, EvaluationName, EvaluationReply, EvaluationResults } from "./protocol.ts";

/** Below normal priority, so that requests and heartbeats go first on machines with few processors. */
const PRIORITY = 5;

const WORK: { readonly [Name in EvaluationName]: (input: EvaluationInputs[Name]) => EvaluationResults[Name] } = {
  part: ({ node, part, scope }) => evaluatePart(node, part, scope),
  sources: ({ sources, scope }) => evaluateSources(sources, scope),
  flow: ({ flow, limits, ...options }) => checkFlow(flow, limits, options),
  answer: ({ form, data }) => checkAnswer(form, data),
  scores: ({ definitions, samples }) => scoreLocally(definitions, samples),
  schema: ({ schema, values }) => checkValues(schema, values),
  provider: makeProvider,
};

setPriority(PRIORITY);
serveRequests({
  async handle({ header, body }) {
    const work = WORK[header["name"] as EvaluationName] as (input: unknown) => unknown;
    const reply = (failure: EvaluationReply["failure"], text: string) => ({
      header: { failure },
      body: Buffer.from(text),
    });
    try {
      return reply(null, jsonText(work(JSON.parse(body.toString("utf8"))) as Json));
    } catch (error) {
      if (!(error instanceof NodeFailure)) throw error;
      return reply({ code: error.code, message: error.message }, "");
    }
  },
  wornAtMib: 400,
});
