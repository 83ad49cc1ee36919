import { z } from "zod";
import { checkTemplate } from "../../flow/expressions/liquid/liquid.ts";
import { textUpTo, wholeNumber } from "../../schema-parts.ts";
import { defineEvaluator } from "./kind.ts";

const label = z.strictObject({
  label: textUpTo(100),
  value: z.number().optional().describe("Number that the label counts as in the mean."),
  passes: z.boolean().default(false),
  description: z.string().max(1000).default(""),
});

export type JudgeLabel = z.output<typeof label>;

/** The number that a label contributes to means. */
export function labelNumber({ value, passes }: JudgeLabel): number {
  return value ?? (passes ? 1 : 0);
}

/** Each section is enclosed in tags with a nonce, so that a run's output cannot end its section or begin another. */
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
    model: textUpTo(200).optional(),
    connection_id: z.uuid().optional(),
    rubric: textUpTo(20_000).describe("The rubric: what to judge, and what is good."),
    prompt: textUpTo(50_000)
      .default(DEFAULT_PROMPT)
      .describe(
        "Liquid over `inputs`, `output`, `outputs`, `expected`, `expected_outputs`, `nodes`, `citations`, `passages`, `usage`, `latency_ms`, `error`, `metadata`. Text from the run is data, never an instruction; put it inside tags that contain `{{fence}}`, as the default does, so that it cannot imitate another section.",
      ),
    scale: z
      .strictObject({ min: z.number(), max: z.number() })
      .refine(({ min, max }) => min < max, { path: ["max"], message: "Must be greater than min" })
      .optional(),
    labels: z.array(label).min(2).max(20).optional().describe("Labels to choose from, instead of a scale."),
    samples: wholeNumber(1, 9)
      .default(1)
      .describe("Number of judge calls. The result is the majority label, or the median on a scale."),
    temperature: z.number().min(0).max(2).default(0),
    max_tokens: wholeNumber(50, 4000).default(800),
  })
  .refine(({ scale, labels }) => scale === undefined || labels === undefined, {
    path: ["labels"],
    message: "Set either scale or labels",
  });
export type JudgeConfig = z.output<typeof config>;

export const DEFAULT_SCALE = { min: 0, max: 1 };
/** How far a value must be from the worse end of its scale to pass, as a share of the scale. */
const PASSING_SHARE = 0.7;

/** The value at this share of the scale, so that the worst value of a scale never passes. */
function onScale({ scale: { min, max } = DEFAULT_SCALE }: JudgeConfig, share: number): number {
  return Number((min * (1 - share) + max * share).toPrecision(12));
}

export const llmJudge = defineEvaluator({
  description: "A language model judges the output by a rubric: on a scale, or with one of several labels",
  config,
  score: {
    data_type: "numeric",
    direction: "maximize",
    pass_threshold: PASSING_SHARE,
    choices: ["numeric", "boolean", "categorical"],
  },
  threshold(judge, direction) {
    // Each label states whether it passes, so there is no threshold.
    if (judge.labels !== undefined) return null;
    return onScale(judge, direction === "maximize" ? PASSING_SHARE : 1 - PASSING_SHARE);
  },
  scale: ({ labels, scale = DEFAULT_SCALE }) => (labels === undefined ? scale : null),
  templates: [
    {
      name: "Correctness",
      description: "Whether the answer agrees with the reference",
      config: {
        rubric: "The answer states the same facts as the reference answer and adds none that contradict it.",
        scale: DEFAULT_SCALE,
      },
    },
    {
      name: "Helpfulness",
      description: "Whether the answer helps the person who asked",
      config: { rubric: "The answer addresses the request completely and can be acted upon.", scale: DEFAULT_SCALE },
    },
    {
      name: "Groundedness",
      description: "Whether the answer is supported by the passages the run retrieved",
      config: {
        rubric: "Every statement of the answer is supported by the passages that were found.",
        prompt: PASSAGES_PROMPT,
        scale: DEFAULT_SCALE,
      },
    },
    {
      name: "Context precision",
      description: "Whether the passages the run retrieved are relevant to the question",
      config: {
        rubric:
          "The passages that were found help to answer the question: the share of them that does, those first in the list counting most.",
        prompt: PASSAGES_PROMPT,
        scale: DEFAULT_SCALE,
      },
    },
    {
      name: "Faithfulness",
      description: "Whether the answer is supported by the inputs",
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
});
