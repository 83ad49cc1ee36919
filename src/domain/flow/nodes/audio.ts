import { z } from "zod";
import { MEDIA_TEXT, mediaInput } from "./media.ts";
import { connectionReference, modelConfig } from "./model-choice.ts";
import { defineNode, NETWORK_RETRY, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  ...modelConfig,
  required: z.boolean().default(true).describe("Whether a run without this input is rejected"),
  description: z.string().max(2000).exactOptional().describe("What to enter, for people and models that fill it in"),
});
export type AudioConfig = z.infer<typeof config>;

export const audioSpec = defineNode({
  title: "Recording",
  group: "inputs",
  icon: "microphone",
  description: "An audio recording given to the run, as text transcribed by a model",
  example: { description: "What the customer said" },
  advanced: ["model", "connection_id"],
  config,
  input: true,
  execution: () => "activity",
  outputMember: () => "text",
  references: ({ connection_id }) => connectionReference(connection_id),
  model: ({ model, connection_id }) => ({ model, connection_id }),
  remembers: remembersNothing,
  retry: NETWORK_RETRY,
  timeout_ms: 300_000,
  io: {
    output: () => MEDIA_TEXT,
    input: (config, { max_input_bytes }) => ({
      schema: mediaInput("audio", config, max_input_bytes),
      required: config.required,
    }),
  },
});
