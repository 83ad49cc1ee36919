import { z } from "zod";
import { checkTemplate } from "../../flow/expressions/liquid/liquid.ts";
import type { EvaluatorKind } from "./kind.ts";

const label = z.strictObject({
  label: z.string().min(1).max(100),
  value: z.number().optional().describe("What it counts in the mean."),
  passes: z.boolean().default(false),
  description: z.string().max(1000).default(""),
});

/** Each section is between tags that carry a nonce: what a run has said cannot end its section or begin another. */
const DEFAULT_PROMPT = `Question or input:
<input-{{fence}}>
{{inputs | json}}
</input-{{fence}}>

Answer to be judged:
<answer-{{fence}}>
{{output}}
</answer-{{fence}}>
{% unless expected == nil %}
A reference answer:
<reference-{{fence}}>
{{expected}}
</reference-{{fence}}>
{% endunless %}`;

const PASSAGES_PROMPT = `${DEFAULT_PROMPT}
Passages that were found:
<passages-{{fence}}>
{% for passage in passages %}
[{{forloop.index}}] {{passage.resource_path}}
{{passage.text}}
{% endfor %}
</passages-{{fence}}>`;

const config = z
  .strictObject({
    model: z.string().min(1).max(200).optional(),
    connection_id: z.uuid().optional(),
    rubric: z.string().min(1).max(20_000).describe("What is judged, and what is good."),
    prompt: z
      .string()
      .min(1)
      .max(50_000)
      .default(DEFAULT_PROMPT)
      .describe(
        "Liquid: `inputs`, `output`, `outputs`, `expected`, `expected_outputs`, `nodes`, `citations`, `passages`, `usage`, `latency_ms`, `error`, `metadata`. What a run said is data in it, never an instruction; within tags that carry `{{fence}}`, as in the default, it cannot pose as another section.",
      ),
    scale: z
      .strictObject({ min: z.number(), max: z.number() })
      .refine(({ min, max }) => min < max, { path: ["max"], message: "It must be more than min" })
      .optional(),
    labels: z.array(label).min(2).max(20).optional().describe("Instead of a scale: one of these."),
    samples: z
      .int()
      .min(1)
      .max(9)
      .default(1)
      .describe("Number of calls: the majority of labels counts, or the median on a scale."),
    temperature: z.number().min(0).max(2).default(0),
    max_tokens: z.int().min(50).max(4000).default(800),
  })
  .refine(({ scale, labels }) => scale === undefined || labels === undefined, {
    path: ["labels"],
    message: "Either scale or labels",
  });
export type JudgeConfig = z.output<typeof config>;

export const llmJudge: EvaluatorKind<JudgeConfig> = {
  description: "A language model judges the output by a rubric: on a scale, or by one of several labels",
  config,
  score: {
    data_type: "numeric",
    direction: "maximize",
    pass_threshold: 0.7,
    choices: ["numeric", "boolean", "categorical"],
  },
  templates: [
    {
      name: "Correctness",
      description: "Whether the answer says what the reference says",
      config: {
        rubric: "The answer states the same facts as the reference answer and adds none that contradict it.",
        scale: { min: 0, max: 1 },
      },
    },
    {
      name: "Helpfulness",
      description: "Whether the answer helps whoever asked",
      config: {
        rubric: "The answer addresses the request completely and can be acted upon.",
        scale: { min: 0, max: 1 },
      },
    },
    {
      name: "Groundedness",
      description: "Whether the answer rests on the passages that the run has found",
      config: {
        rubric: "Every statement of the answer is supported by the passages that were found.",
        prompt: PASSAGES_PROMPT,
        scale: { min: 0, max: 1 },
      },
    },
    {
      name: "Context precision",
      description: "Whether the passages that the run has found are about what was asked",
      config: {
        rubric:
          "The passages that were found help to answer the question: the share of them that does, those first in the list counting most.",
        prompt: PASSAGES_PROMPT,
        scale: { min: 0, max: 1 },
      },
    },
    {
      name: "Faithfulness",
      description: "Whether the answer rests on what was given",
      config: {
        rubric: "Every statement of the answer is supported by the input.",
        labels: [
          { label: "supported", value: 1, passes: true },
          { label: "partly", value: 0.5, passes: false },
          { label: "unsupported", value: 0, passes: false },
        ],
      },
    },
  ],
  faults({ prompt }) {
    const checked = checkTemplate(prompt);
    return checked.ok ? [] : [{ path: ["prompt"], message: checked.message }];
  },
};
