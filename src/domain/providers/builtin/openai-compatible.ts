import { apiKey, noCredential, webAddress } from "../auth-fields.ts";
import type { Provider } from "../provider.ts";

const base = { base_url: webAddress("Up to the version, e.g. https://api.openai.com/v1 or http://localhost:11434/v1") };

export const openaiCompatible: Provider = {
  provider_id: "openai_compatible",
  provider_version: "1",
  name: "OpenAI-compatible models",
  description: "Models behind the interface of OpenAI: OpenAI itself, Azure, vLLM, Ollama, llama.cpp and many others",
  provider_group: ["models"],
  tags: ["llm", "chat", "embeddings"],
  icon: null,
  auth: {
    required: true,
    schemes: {
      api_key: apiKey({ in: "header", name: "authorization", prefix: "Bearer " }, base),
      none: noCredential(base),
    },
  },
  source: "builtin",
  check: { method: "GET", path: "/models" },
};
