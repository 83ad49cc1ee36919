import { bearer, fieldsOf, webAddress } from "../auth-fields.ts";
import type { Provider } from "../provider.ts";

export const slack: Provider = {
  provider_id: "slack",
  provider_version: "1",
  name: "Slack",
  description: "Messages to Slack, by the Web API (a bot token) or by an incoming webhook",
  provider_group: ["communication"],
  tags: ["chat", "messages"],
  icon: null,
  auth: {
    required: true,
    schemes: {
      bearer: bearer({ base_url: webAddress("The Web API", { default: "https://slack.com/api" }) }),
      // The address is the credential.
      api_key: {
        fields: fieldsOf({ webhook_url: webAddress("The address of an incoming webhook", { writeOnly: true }) }),
      },
    },
  },
  source: "builtin",
  check: {
    method: "POST",
    path: "/auth.test",
    refused(body) {
      const { ok, error } = (body ?? {}) as { ok?: unknown; error?: unknown };
      return ok === true ? null : `Slack answers ${typeof error === "string" ? error : "no"}`;
    },
  },
};
