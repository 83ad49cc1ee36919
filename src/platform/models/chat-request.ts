import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV3ToolChoice,
} from "@ai-sdk/provider";
import type { JsonObject } from "../../domain/json.ts";
import {
  OWN_MEMBERS,
  type ChatImage,
  type ChatMessage,
  type ChatRequest,
  type ToolChoice,
} from "../../domain/models/chat.ts";
import { strictSchema } from "../../domain/models/strict-schema.ts";

/** Where a model is, and which protocol and credentials it uses. */
export interface ChatEndpoint {
  readonly protocol: "openai" | "anthropic";
  /** The URL up to the version, without a slash at the end. */
  readonly base_url: string;
  /** Headers that authenticate a request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
}

/** How to send the parts of a request on which endpoints differ. */
export interface RequestForm {
  /** How the response schema is sent: as strict mode requires, unchanged, or as text among the messages. */
  readonly answer: "strict" | "loose" | "prompted";
  readonly limit: "max_tokens" | "max_completion_tokens";
}

/** Models that refuse `max_tokens`, by the names that their vendors use. */
const COMPLETION_TOKENS = /^(?:[\w.-]+\/)?(?:o[1-9]|gpt-5)/;
/** Error texts of endpoints that do not support a schema, or not this one. */
const NO_SCHEMA = /response_format|json_schema|schema|structured|strict/i;

/** The form that is tried first. */
export function firstForm({ protocol }: ChatEndpoint, { model, schema }: ChatRequest): RequestForm {
  const isStrict = protocol === "openai" && schema !== undefined && strictSchema(schema) !== null;
  const limit = protocol === "openai" && COMPLETION_TOKENS.test(model) ? "max_completion_tokens" : "max_tokens";
  return { answer: isStrict ? "strict" : "loose", limit };
}

/** The next form after an endpoint refused a request; null if the form was not the reason. */
export function nextForm(
  form: RequestForm,
  { schema, max_tokens }: ChatRequest,
  status: number | null,
  body: string,
): RequestForm | null {
  if (status !== 400 && status !== 422) return null;
  const said = body.slice(0, 4000);
  if (max_tokens !== undefined && form.limit === "max_tokens" && said.includes("max_completion_tokens"))
    return { ...form, limit: "max_completion_tokens" };
  if (schema === undefined || form.answer === "prompted" || !NO_SCHEMA.test(said)) return null;
  return { ...form, answer: form.answer === "strict" ? "loose" : "prompted" };
}

/** The SDK's model for a request, using one of the protocols. */
export function openModel(
  plainFetch: typeof globalThis.fetch,
  endpoint: ChatEndpoint,
  { model, extra_body }: ChatRequest,
  { limit }: RequestForm,
): LanguageModelV3 {
  const { protocol, base_url: baseURL, headers, query } = endpoint;
  const fetch = extra_body === undefined ? plainFetch : withMembers(plainFetch, extra_body);
  if (protocol === "anthropic") {
    // The SDK's own key is sent in the same header as `headers` sets, which takes precedence.
    return createAnthropic({ baseURL, apiKey: headers["x-api-key"] ?? "none", headers: { ...headers }, fetch })(model);
  }
  return createOpenAICompatible({
    name: "model",
    baseURL,
    headers: { ...headers },
    ...(query === undefined ? {} : { queryParams: { ...query } }),
    fetch,
    includeUsage: true,
    supportsStructuredOutputs: true,
    ...(limit === "max_completion_tokens" ? { transformRequestBody: asCompletionTokens } : {}),
  })(model);
}

function asCompletionTokens({ max_tokens, ...body }: Record<string, unknown>): Record<string, unknown> {
  return max_tokens === undefined ? body : { ...body, max_completion_tokens: max_tokens };
}

/** Adds fields to request bodies. Fields that the body already has stay. */
function withMembers(fetch: typeof globalThis.fetch, members: JsonObject): typeof globalThis.fetch {
  const own = Object.entries(members).filter(([name]) => !OWN_MEMBERS.includes(name));
  return (input, init) => {
    if (typeof init?.body !== "string") return fetch(input, init);
    const body = { ...(JSON.parse(init.body) as JsonObject), ...Object.fromEntries(own) };
    return fetch(input, { ...init, body: JSON.stringify(body) });
  };
}

/** A request in the form that the SDK takes. */
export function callOptions(
  endpoint: ChatEndpoint,
  request: ChatRequest,
  form: RequestForm,
  signal: AbortSignal,
): LanguageModelV3CallOptions {
  const { messages, temperature, max_tokens, top_p, stop, seed, schema, tools = [], tool_choice } = request;
  const { answer } = form;
  const asked = schema !== undefined && answer === "prompted" ? withInstruction(messages, schema) : messages;
  const wanted = answer === "strict" && schema !== undefined ? (strictSchema(schema) ?? schema) : schema;
  return {
    prompt: joinToolResults(asked.map(toPrompt)),
    abortSignal: signal,
    ...(temperature === undefined ? {} : { temperature }),
    ...(max_tokens === undefined ? {} : { maxOutputTokens: max_tokens }),
    ...(top_p === undefined ? {} : { topP: top_p }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...(seed === undefined ? {} : { seed }),
    ...(wanted === undefined || answer === "prompted"
      ? {}
      : { responseFormat: { type: "json", schema: wanted, name: "answer" } }),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, input_schema }) => ({
            type: "function",
            name,
            description,
            inputSchema: input_schema,
          })),
          ...(tool_choice === undefined ? {} : { toolChoice: toToolChoice(tool_choice) }),
        }),
    providerOptions: optionsOf(endpoint, request, form),
  };
}

function toToolChoice(choice: ToolChoice): LanguageModelV3ToolChoice {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}

function optionsOf(
  { protocol }: ChatEndpoint,
  { reasoning_effort }: ChatRequest,
  { answer }: RequestForm,
): NonNullable<LanguageModelV3CallOptions["providerOptions"]> {
  if (protocol === "openai") {
    const effort = reasoning_effort === undefined ? {} : { reasoningEffort: reasoning_effort };
    return { model: { strictJsonSchema: answer === "strict", ...effort } };
  }
  if (reasoning_effort === undefined || reasoning_effort === "none") return {};
  return { anthropic: { effort: reasoning_effort === "minimal" ? "low" : reasoning_effort } };
}

/** For endpoints that do not support schemas; Millrace checks the response in any case. */
function withInstruction(messages: readonly ChatMessage[], schema: JsonObject): readonly ChatMessage[] {
  const content = `Answer with JSON only, without any other word, that is valid by this JSON Schema:\n${JSON.stringify(schema)}`;
  const [first, ...rest] = messages;
  if (first?.role !== "system") return [{ role: "system", content }, ...messages];
  return [{ role: "system", content: `${first.content}\n\n${content}` }, ...rest];
}

function toPrompt(message: ChatMessage): LanguageModelV3Message {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content };
    case "user":
      return {
        role: "user",
        content: [{ type: "text", text: message.content }, ...(message.images ?? []).map(toImagePart)],
      };
    case "assistant":
      return {
        role: "assistant",
        content: [
          ...(message.content === "" ? [] : [{ type: "text" as const, text: message.content }]),
          ...(message.tool_calls ?? []).map(({ call_id, name, input }) => ({
            type: "tool-call" as const,
            toolCallId: call_id,
            toolName: name,
            input,
          })),
        ],
      };
    case "tool": {
      const { call_id, name, output, failed } = message;
      const value = failed ? { type: "error-json" as const, value: output } : { type: "json" as const, value: output };
      // Our JSON type and the SDK's differ in `readonly` only.
      return {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: call_id, toolName: name, output: value }],
      } as LanguageModelV3Message;
    }
    default:
      return message satisfies never;
  }
}

/** Both protocols expect the results of parallel calls in one message. */
function joinToolResults(messages: readonly LanguageModelV3Message[]): LanguageModelV3Message[] {
  const joined: LanguageModelV3Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role === "tool" && last?.role === "tool") last.content.push(...message.content);
    else joined.push(message);
  }
  return joined;
}

function toImagePart(image: ChatImage) {
  return "url" in image
    ? { type: "file" as const, data: new URL(image.url), mediaType: "image/*" }
    : { type: "file" as const, data: image.base64, mediaType: image.mime_type };
}
