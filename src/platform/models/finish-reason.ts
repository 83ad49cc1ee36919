import type { LanguageModelV3FinishReason } from "@ai-sdk/provider";
import type { FinishReason } from "../../domain/models/chat.ts";

const UNIFIED: Readonly<Record<LanguageModelV3FinishReason["unified"], FinishReason>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  "tool-calls": "tool_calls",
  error: "error",
  other: "other",
};

/** Finish reasons of vendors and gateways that differ from the two protocols and that the SDK does not know. */
const VENDORS: ReadonlyMap<string, FinishReason> = new Map([
  ...(["stop", "eos", "eos_token", "complete"] as const).map((word) => [word, "stop"] as const),
  ...[
    "length",
    "max_tokens",
    "max_output_tokens",
    "max_completion_tokens",
    "model_length",
    "model_context_window_exceeded",
  ].map((word) => [word, "length"] as const),
  ...["content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii"].map(
    (word) => [word, "content_filter"] as const,
  ),
  ...[
    "error",
    "abort",
    "cancelled",
    "insufficient_system_resource",
    "malformed_function_call",
    // The endpoint wants to be asked to continue a turn of its own tools, which Millrace's requests never use.
    "pause_turn",
  ].map((word) => [word, "error"] as const),
]);

/** Why a model stopped; "error" if the endpoint ended an incomplete response. */
export function finishReasonOf({ unified, raw }: LanguageModelV3FinishReason): FinishReason {
  // The SDK reports a refusal as part of a response whose own reason is "stop".
  if (unified === "content-filter") return "content_filter";
  return VENDORS.get(raw?.toLowerCase() ?? "") ?? UNIFIED[unified];
}
