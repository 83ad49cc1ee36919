import { apiKey, webAddress } from "../auth-fields.ts";
import type { Provider } from "../provider.ts";

/** The version of the interface that requests ask for. */
const ANTHROPIC_VERSION = "2023-06-01";

export const anthropic: Provider = {
  provider_id: "anthropic",
  provider_version: "1",
  name: "Anthropic",
  description: "The models of Anthropic",
  provider_group: ["models"],
  tags: ["llm", "chat", "claude"],
  icon: null,
  auth: {
    required: true,
    schemes: {
      api_key: apiKey(
        { in: "header", name: "x-api-key" },
        { base_url: webAddress("The service", { default: "https://api.anthropic.com" }) },
      ),
    },
  },
  source: "builtin",
  check: { method: "GET", path: "/v1/models", headers: { "anthropic-version": ANTHROPIC_VERSION } },
};
