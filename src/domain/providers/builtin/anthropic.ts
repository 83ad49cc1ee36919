import { below, inputsOf, READS } from "../action.ts";
import { apiKey, webAddress } from "../auth-fields.ts";
import { defineProvider } from "../provider.ts";

/** The API version that requests name. */
const headers = { "anthropic-version": "2023-06-01" };

export const anthropic = defineProvider({
  provider_id: "anthropic",
  name: "Anthropic",
  description: "Anthropic's models",
  provider_group: ["models"],
  tags: ["llm", "chat", "claude"],
  auth: {
    required: true,
    schemes: {
      api_key: apiKey(
        { in: "header", name: "x-api-key" },
        { base_url: webAddress("Base URL of the service", { default: "https://api.anthropic.com" }) },
      ),
    },
  },
  actions: {
    create_message: {
      name: "Create a message",
      description: "Sends messages to a model and returns its answer",
      annotations: READS,
      timeout_seconds: 300,
      input_schema: {
        ...inputsOf(
          {
            model: { type: "string", minLength: 1 },
            max_tokens: { type: "integer", minimum: 1 },
            messages: { type: "array", minItems: 1, items: { type: "object" }, description: "`[{role, content}]`" },
          },
          { system: { type: "string" }, temperature: { type: "number", minimum: 0, maximum: 1 } },
        ),
        additionalProperties: true,
      },
      output_schema: { type: "object", properties: { content: { type: "array" }, usage: { type: "object" } } },
      request: (inputs, { base_url }) => ({
        method: "POST",
        url: below(base_url, "v1/messages"),
        headers,
        body: { json: { ...inputs, stream: false } },
      }),
    },
    list_models: {
      name: "List models",
      description: "Lists the available models",
      annotations: READS,
      input_schema: inputsOf({}),
      output_schema: { type: "object", properties: { data: { type: "array" } } },
      request: (_, { base_url }) => ({ method: "GET", url: below(base_url, "v1/models"), headers }),
    },
  },
  check: { method: "GET", path: "/v1/models", headers },
});
