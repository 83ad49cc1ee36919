import { z } from "zod";
import { textUpTo } from "../../schema-parts.ts";
import { MEDIA_TYPES, OCR_TYPES } from "../../media/media.ts";
import { inputFields } from "./input.ts";
import { mediaInput, mediaNode } from "./media.ts";
import { connectionReference, modelConfig } from "./model-choice.ts";
import { defineNode } from "./spec.ts";

const config = z.strictObject({
  ...modelConfig,
  required: z.boolean().default(true).describe("Whether a run without this input is rejected"),
  mode: z
    .enum(["model", "ocr"])
    .default("model")
    .describe(
      "`model` asks a model that reads images; `ocr` reads the text in the image on this installation, without a model",
    ),
  prompt: textUpTo(20_000)
    .default("Describe this picture. Give the text in it word for word.")
    .describe("Prompt for the model"),
  description: inputFields.description,
});
export type ImageConfig = z.infer<typeof config>;

export function imageTypes({ mode }: Pick<ImageConfig, "mode">): readonly string[] {
  return mode === "ocr" ? OCR_TYPES : MEDIA_TYPES.image;
}

export const imageSpec = defineNode({
  title: "Picture",
  ...mediaNode,
  icon: "picture",
  description: "An image given to the run: a model's description of it, or the text recognised in it",
  example: { prompt: "What is broken in this picture?", description: "A photo of the damage" },
  config,
  references: ({ connection_id }) => connectionReference(connection_id),
  model: ({ mode, model, connection_id }) => (mode === "ocr" ? null : { model, connection_id }),
  io: {
    ...mediaNode.io,
    input: (config, { max_input_bytes }) => ({
      schema: mediaInput("image", config, max_input_bytes, imageTypes(config)),
      required: config.required,
    }),
  },
});
