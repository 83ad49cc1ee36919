import { z } from "zod";
import { inputFields } from "./input.ts";
import { mediaInput, mediaNode } from "./media.ts";
import { connectionReference, modelConfig } from "./model-choice.ts";
import { defineNode } from "./spec.ts";

const config = z.strictObject({
  ...modelConfig,
  required: z.boolean().default(true).describe("Whether a run without this input is rejected"),
  description: inputFields.description,
});
export type AudioConfig = z.infer<typeof config>;

export const audioSpec = defineNode({
  title: "Recording",
  ...mediaNode,
  icon: "microphone",
  description: "An audio recording given to the run, as text transcribed by a model",
  example: { description: "What the customer said" },
  config,
  references: ({ connection_id }) => connectionReference(connection_id),
  model: ({ model, connection_id }) => ({ model, connection_id }),
  io: {
    ...mediaNode.io,
    input: (config, { max_input_bytes }) => ({
      schema: mediaInput("audio", config, max_input_bytes),
      required: config.required,
    }),
  },
});
