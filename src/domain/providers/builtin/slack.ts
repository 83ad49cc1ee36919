import type { Json, JsonObject } from "../../json.ts";
import { ActionRefused, ADDS, below, given, inputsOf, queryOf, READS } from "../action.ts";
import { bearer, fieldsOf, webAddress } from "../auth-fields.ts";
import { defineProvider } from "../provider.ts";

const text = { type: "string", maxLength: 40_000, description: "Text in mrkdwn; also shown in notifications" };
const blocks = { type: "array", items: { type: "object" }, maxItems: 50, description: "Block Kit blocks" };
const NO_WEBHOOK = "connection_id: the connection has no webhook_url; to use a token, choose post_message";

export const slack = defineProvider({
  provider_id: "slack",
  name: "Slack",
  description: "Messages to Slack, through the Web API (bot token) or an incoming webhook",
  provider_group: ["communication"],
  tags: ["chat", "messages"],
  auth: {
    required: true,
    schemes: {
      bearer: bearer({ base_url: webAddress("Base URL of the Web API", { default: "https://slack.com/api" }) }),
      // The webhook's URL is the credential.
      api_key: {
        fields: fieldsOf({ webhook_url: webAddress("URL of an incoming webhook", { writeOnly: true }) }),
      },
    },
  },
  actions: {
    post_message: {
      name: "Post a message",
      description: "Posts a message to a channel or thread through the Web API (bot token)",
      annotations: ADDS,
      input_schema: inputsOf(
        { channel: { type: "string", minLength: 1, description: "ID of the channel or user, or #name" }, text },
        { blocks, thread_ts: { type: "string", description: "Timestamp of the message to reply to" } },
      ),
      output_schema: { type: "object", properties: { channel: { type: "string" }, ts: { type: "string" } } },
      request: (inputs, { base_url }) => ({
        method: "POST",
        url: below(base_url, "chat.postMessage"),
        body: { json: inputs },
      }),
      outputs: ({ body }) => accepted(body, ["channel", "ts"]),
    },
    send_to_webhook: {
      name: "Send to a webhook",
      description: "Posts a message through an incoming webhook",
      annotations: ADDS,
      input_schema: inputsOf({ text }, { blocks }),
      output_schema: { type: "object", properties: { ok: { const: true } } },
      request(inputs, { webhook_url }) {
        if (typeof webhook_url !== "string") throw new ActionRefused("inputs", NO_WEBHOOK);
        return { method: "POST", url: webhook_url, body: { json: inputs } };
      },
      outputs: () => ({ ok: true }),
    },
    list_channels: {
      name: "List channels",
      description: "Lists the public channels",
      annotations: READS,
      input_schema: inputsOf({}, { limit: { type: "integer", minimum: 1, maximum: 1000 }, cursor: { type: "string" } }),
      output_schema: { type: "object", properties: { channels: { type: "array" } } },
      request: (inputs, { base_url }) => ({
        method: "GET",
        url: below(base_url, "conversations.list"),
        query: queryOf(inputs),
      }),
      outputs: ({ body }) => accepted(body, ["channels", "response_metadata"]),
    },
  },
  check: { method: "POST", path: "/auth.test", refused: refusal },
});

/** The error in a response, because Slack reports errors with status 200. */
function refusal(body: Json): string | null {
  const { ok, error } = (body ?? {}) as { ok?: unknown; error?: unknown };
  return ok === true ? null : `Slack returned the error ${typeof error === "string" ? error : "unknown"}`;
}

function accepted(body: Json, members: readonly string[]): Json {
  const no = refusal(body);
  if (no !== null) throw new ActionRefused("upstream", no);
  return given(Object.fromEntries(members.map((name) => [name, (body as JsonObject)[name]])));
}
