import type { Json, JsonObject } from "../json.ts";

export interface ToolCall {
  readonly call_id: string;
  readonly name: string;
  /** The model's JSON, parsed; a string if it is not JSON. */
  readonly input: Json;
}

/** An image as a model accepts it: an https URL, or base64 bytes. */
export type ChatImage = { readonly url: string } | { readonly base64: string; readonly mime_type: string };

export interface Recording {
  readonly bytes: Uint8Array;
  readonly type: string;
}

/** A part of a conversation, in the order of the conversation. */
export type ChatMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string; readonly images?: readonly ChatImage[] }
  | { readonly role: "assistant"; readonly content: string; readonly tool_calls?: readonly ToolCall[] }
  | {
      readonly role: "tool";
      readonly call_id: string;
      readonly name: string;
      readonly output: Json;
      /** Whether the output reports a failure. */
      readonly failed?: boolean;
    };

/** A tool as a model sees it. */
export interface ChatTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its input. */
  readonly input_schema: JsonObject;
}

export const REASONING_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** Which tools a model may call: any or none, at least one, none, or exactly this one. */
export type ToolChoice = "auto" | "required" | "none" | { readonly tool: string };

/** Request fields that callers cannot set. */
export const OWN_MEMBERS: readonly string[] = ["model", "messages", "system", "stream", "stream_options", "tools", "n"];

/** Settings of a model request, in addition to the messages. */
export interface ChatSettings {
  readonly temperature?: number;
  readonly max_tokens?: number;
  readonly top_p?: number;
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly reasoning_effort?: ReasoningEffort;
  readonly tool_choice?: ToolChoice;
  /** Fields that are added to the request unchanged. */
  readonly extra_body?: JsonObject;
}

export interface ChatRequest extends ChatSettings {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** JSON Schema of the answer; without it the answer is text. */
  readonly schema?: JsonObject;
  readonly tools?: readonly ChatTool[];
}

/** Why a model's answer ended. */
export type FinishReason = "stop" | "length" | "content_filter" | "tool_calls" | "error" | "other";

/** The tokens of a call, as its endpoint counted them; null if it did not. */
export interface TokenCount {
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  /** Input tokens that the endpoint read from its cache. */
  readonly cached_tokens: number | null;
}

/** A model's complete answer. */
export interface ChatAnswer {
  readonly text: string;
  readonly tool_calls: readonly ToolCall[];
  readonly finish_reason: FinishReason;
  readonly tokens: TokenCount;
}
