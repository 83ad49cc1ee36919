import { below, inputsOf, READS } from "../action.ts";
import { apiKey, noCredential, webAddress } from "../auth-fields.ts";
import { defineProvider } from "../provider.ts";

const base = {
  base_url: webAddress("Base URL up to the version, e.g. https://api.openai.com/v1 or http://localhost:11434/v1"),
};

const messages = {
  type: "array",
  minItems: 1,
  items: { type: "object", properties: { role: { type: "string" } }, required: ["role"] },
  description: "`[{role, content}]`",
} as const;

export const openaiCompatible = defineProvider({
  provider_id: "openai_compatible",
  name: "OpenAI-compatible models",
  description: "Models with an OpenAI-compatible API: OpenAI itself, Azure, vLLM, Ollama, llama.cpp and many others",
  provider_group: ["models"],
  tags: ["llm", "chat", "embeddings"],
  auth: {
    required: true,
    schemes: {
      api_key: apiKey({ in: "header", name: "authorization", prefix: "Bearer " }, base),
      none: noCredential(base),
    },
  },
  actions: {
    chat: {
      name: "Chat",
      description: "Sends messages to a model and returns its answer",
      annotations: READS,
      timeout_seconds: 300,
      input_schema: {
        ...inputsOf(
          { model: { type: "string", minLength: 1 }, messages },
          { temperature: { type: "number", minimum: 0, maximum: 2 }, max_tokens: { type: "integer", minimum: 1 } },
        ),
        // Endpoints accept different further fields.
        additionalProperties: true,
      },
      output_schema: { type: "object", properties: { choices: { type: "array" }, usage: { type: "object" } } },
      request: (inputs, { base_url }) => ({
        method: "POST",
        url: below(base_url, "chat/completions"),
        body: { json: { ...inputs, stream: false } },
      }),
    },
    embed: {
      name: "Embed",
      description: "Converts texts to vectors (embeddings)",
      annotations: READS,
      input_schema: inputsOf({
        model: { type: "string", minLength: 1 },
        input: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 2048 },
      }),
      output_schema: { type: "object", properties: { data: { type: "array" } } },
      request: (inputs, { base_url }) => ({
        method: "POST",
        url: below(base_url, "embeddings"),
        body: { json: inputs },
      }),
    },
    list_models: {
      name: "List models",
      description: "Lists the models of the endpoint",
      annotations: READS,
      input_schema: inputsOf({}),
      output_schema: { type: "object", properties: { data: { type: "array" } } },
      request: (_, { base_url }) => ({ method: "GET", url: below(base_url, "models") }),
    },
  },
  check: { method: "GET", path: "/models" },
});
