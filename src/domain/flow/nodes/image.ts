import { z } from "zod";
import { MEDIA_TYPES, OCR_TYPES } from "../../media/media.ts";
import { MEDIA_TEXT, mediaInput } from "./media.ts";
import { connectionReference, modelConfig } from "./model-choice.ts";
import { defineNode, NETWORK_RETRY, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  ...modelConfig,
  required: z.boolean().default(true).describe("Whether a run without it is refused"),
  mode: z
    .enum(["model", "ocr"])
    .default("model")
    .describe(
      "`model` asks a model that sees; `ocr` reads the text in the picture on this installation, without any model",
    ),
  prompt: z
    .string()
    .min(1)
    .max(20_000)
    .default("Describe this picture. Give the text in it word for word.")
    .describe("The prompt of the model"),
  description: z.string().max(2000).exactOptional().describe("What to give, for people and models that fill it in"),
});
export type ImageConfig = z.infer<typeof config>;

/** The types of pictures that a node takes. */
export function imageTypes({ mode }: Pick<ImageConfig, "mode">): readonly string[] {
  return mode === "ocr" ? OCR_TYPES : MEDIA_TYPES.image;
}

export const imageSpec = defineNode({
  description: "A picture that the run is given: what a model sees in it, or the text that is recognised in it",
  config,
  input: true,
  execution: () => "activity",
  outputMember: () => "text",
  references: ({ connection_id }) => connectionReference(connection_id),
  model: ({ mode, model, connection_id }) => (mode === "ocr" ? null : { model, connection_id }),
  remembers: remembersNothing,
  retry: NETWORK_RETRY,
  timeout_ms: 300_000,
  io: {
    output: () => MEDIA_TEXT,
    input: (config, { max_input_bytes }) => ({
      schema: mediaInput("image", config, max_input_bytes, imageTypes(config)),
      required: config.required,
    }),
  },
});
