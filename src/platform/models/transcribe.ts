import type { ChatAnswer, Recording } from "../../domain/models/chat.ts";
import { limitedSignal } from "../linked-abort.ts";
import { ChatError, statusError, toChatError } from "./stream-chat.ts";
import type { ChatEndpoint } from "./chat-request.ts";

/** File extensions by which services recognise the type of a recording. */
const ENDINGS: Readonly<Record<string, string>> = {
  "audio/mpeg": "mp3",
  "audio/wav": "wav",
  "audio/ogg": "ogg",
  "audio/flac": "flac",
  "audio/mp4": "m4a",
  "audio/webm": "webm",
  "audio/aac": "aac",
};
const MAX_ANSWER_CHARS = 10_000_000;

interface Transcription {
  readonly text?: unknown;
  readonly usage?: { readonly input_tokens?: unknown; readonly output_tokens?: unknown };
}

/** Transcribes a recording (`/audio/transcriptions` of OpenAI). Throws like `streamChat`. */
export async function transcribe(
  fetch: typeof globalThis.fetch,
  { protocol, base_url, headers, query = {} }: ChatEndpoint,
  { model, recording }: { readonly model: string; readonly recording: Recording },
  { signal, silenceMs }: { readonly signal: AbortSignal; readonly silenceMs: number },
): Promise<ChatAnswer> {
  const { host } = new URL(base_url);
  if (protocol !== "openai") {
    const message = `${host} uses Anthropic's protocol, which has no transcription; use a connection of openai_compatible.`;
    throw new ChatError("model_refused", message, { retryable: false });
  }
  const { bytes, type } = recording;
  const form = new FormData();
  form.set("model", model);
  form.set("response_format", "json");
  form.set("file", new Blob([new Uint8Array(bytes)], { type }), `recording.${ENDINGS[type] ?? "bin"}`);
  const address = new URL(`${base_url}/audio/transcriptions`);
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  const { signal: stop, end } = limitedSignal([signal], silenceMs);
  try {
    const response = await fetch(address, { method: "POST", headers: { ...headers }, body: form, signal: stop });
    const body = await response.text();
    if (!response.ok) throw statusError(host, response.status, response.headers.get("retry-after"), body, body);
    if (body.length > MAX_ANSWER_CHARS) throw invalid(host, "it is too long");
    const { text, usage } = parsed(host, body);
    if (typeof text !== "string") throw invalid(host, "it has no text");
    const count = (value: unknown): number | null => (typeof value === "number" ? value : null);
    return {
      text,
      tool_calls: [],
      finish_reason: "stop",
      tokens: {
        input_tokens: count(usage?.input_tokens),
        output_tokens: count(usage?.output_tokens),
        cached_tokens: null,
      },
    };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (stop.aborted) {
      throw new ChatError("model_timeout", `${host} did not respond for ${silenceMs} ms.`, { retryable: true });
    }
    throw toChatError(error, host);
  } finally {
    end();
  }
}

function parsed(host: string, body: string): Transcription {
  try {
    const json: unknown = JSON.parse(body);
    return typeof json === "object" && json !== null ? json : {};
  } catch {
    throw invalid(host, "it is not JSON");
  }
}

function invalid(host: string, why: string): ChatError {
  return new ChatError("model_answer_invalid", `${host} returned something that is not a transcription: ${why}.`, {
    retryable: true,
  });
}
