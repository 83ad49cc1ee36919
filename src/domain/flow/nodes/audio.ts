import { z } from "zod";
import { MEDIA_TEXT, mediaInput } from "./media.ts";
import { connectionReference, modelConfig } from "./model-choice.ts";
import { defineNode, NETWORK_RETRY, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  ...modelConfig,
  required: z.boolean().default(true).describe("Whether a run without it is refused"),
  description: z.string().max(2000).exactOptional().describe("What to give, for people and models that fill it in"),
});
export type AudioConfig = z.infer<typeof config>;

export const audioSpec = defineNode({
  description: "A recording that the run is given: its words as text, by a model that transcribes",
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
