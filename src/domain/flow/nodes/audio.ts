import { z } from "zod";
import { MEDIA_TEXT, mediaInput } from "./media.ts";
import { connectionReference, modelConfig } from "./model-choice.ts";
import { NETWORK_RETRY, ONLY_OUT, remembersNothing, type NodeSpec } from "./spec.ts";

export const audioConfig = z.strictObject({
  ...modelConfig,
  required: z.boolean().default(true).describe("Whether a run without it is refused"),
  description: z.string().max(2000).exactOptional().describe("What to give, for people and models that fill it in"),
});
export type AudioConfig = z.infer<typeof audioConfig>;

export const audioSpec: NodeSpec<AudioConfig> = {
  description: "A recording that the run is given: its words as text, by a model that transcribes",
  config: audioConfig,
  input: true,
  execution: () => "activity",
  handles: () => ONLY_OUT,
  expressions: () => [],
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
};
