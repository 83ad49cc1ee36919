import { apiKey, basic, bearer, clientCredentials, plain, webAddress } from "../auth-fields.ts";
import type { Provider } from "../provider.ts";

const base = { base_url: webAddress("The service: the credential is sent to addresses below this one only") };

export const http: Provider = {
  provider_id: "http",
  provider_version: "1",
  name: "HTTP",
  description: "Any HTTP service",
  provider_group: ["core"],
  tags: ["http", "rest", "api"],
  icon: null,
  auth: {
    required: false,
    schemes: {
      api_key: apiKey(
        { in: "header", name: "x-api-key" },
        {
          ...base,
          in: { enum: ["header", "query"], default: "header", description: "Where the key goes" },
          name: plain("The header or parameter", { default: "x-api-key", pattern: "^[A-Za-z0-9_.-]{1,128}$" }),
        },
      ),
      basic: basic(base),
      bearer: bearer(base),
      oauth2_client_credentials: clientCredentials(base),
    },
  },
  source: "builtin",
};
