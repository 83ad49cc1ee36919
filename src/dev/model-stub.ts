import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { formSample } from "../cli/run-view.ts";
import { wholeOf } from "../platform/whole.ts";
import { judgement } from "./judge-stub.ts";

/** The stub's response to a request. */
export interface StubReply {
  /** Sent as these pieces of text. */
  readonly text?: readonly string[];
  readonly tools?: readonly StubTool[];
  /** "stop", "length" and "refusal" are translated to the words of the protocol; others are sent unchanged. */
  readonly finish?: string;
  /** Sent instead of a response. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly error?: string;
  /** Closes the connection after the text. */
  readonly cut?: true;
  /** Waits before each piece of text (ms). */
  readonly pauseMs?: number;
  /** Responds with one JSON object, like an endpoint that cannot stream. */
  readonly whole?: true;
  /** Sends this body unchanged as the response. */
  readonly raw?: string;
}

interface StubTool {
  readonly id: string;
  readonly name: string;
  /** A string is sent unchanged, to test arguments that are cut off or not JSON. */
  readonly input: unknown;
}

/** The fields of a request that the stub reads, in either protocol. */
interface AskedBody {
  readonly model: string;
  readonly messages?: ReadonlyArray<{ readonly role?: string; readonly content?: unknown }>;
  /** Only in requests to Anthropic. */
  readonly system?: unknown;
  /** In the format of OpenAI or of Anthropic. */
  readonly tools?: ReadonlyArray<{
    readonly name?: string;
    readonly input_schema?: unknown;
    readonly function?: { readonly name: string; readonly parameters?: unknown };
  }>;
  /** The uploaded recording. */
  readonly recording?: { readonly name: string; readonly type: string; readonly size: number };
  readonly response_format?: { readonly json_schema?: { readonly schema?: unknown } };
}

export interface StubCall {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  // The bodies of two protocols.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
  /** Whether the client closed the connection before the response was complete. */
  aborted: boolean;
}

/**
 * A server with the chat interfaces of OpenAI (`/v1/chat/completions`, and `/v1/audio/transcriptions`) and Anthropic (`/v1/messages`),
 * streaming. It contains no model: it responds by a script, for trying out flows without a model, and for tests.
 */
export interface ModelStub {
  /** Like "http://127.0.0.1:40123". */
  readonly url: string;
  readonly calls: readonly StubCall[];
  /** The response to requests when the queue is empty; see `scriptedReply`. */
  answer(reply: (call: StubCall) => StubReply): void;
  /** Queues the responses to the next requests, in order. */
  next(...replies: readonly StubReply[]): void;
  close(): Promise<void>;
}

const KEPT_CALLS = 1000;
const USAGE = { input: 11, output: 7, cached: 3 };

/** The token counts in every response. */
export const COUNTED = USAGE;

export async function startModelStub(port = 0): Promise<ModelStub> {
  const calls: StubCall[] = [];
  const queue: StubReply[] = [];
  let otherwise = scriptedReply;
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy());
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await wholeOf(request);
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const isRecording = pathname === "/v1/audio/transcriptions";
    const body = isRecording
      ? await readRecording(request, sent)
      : (JSON.parse(sent.toString("utf8") || "{}") as AskedBody);
    const call: StubCall = { path: pathname, headers: request.headers, body, aborted: false };
    calls.push(call);
    if (calls.length > KEPT_CALLS) calls.shift();
    response.on("close", () => {
      call.aborted = !response.writableFinished;
    });
    const reply = queue.shift() ?? otherwise(call);
    const isAnthropic = pathname === "/v1/messages";
    const send = (status: number, answer: string): void => {
      response.writeHead(status, { "content-type": "application/json", ...reply.headers }).end(answer);
    };
    if (!isAnthropic && !isRecording && pathname !== "/v1/chat/completions")
      return send(404, '{"error":{"message":"no such path"}}');
    if (reply.status !== undefined) {
      const message = reply.error ?? "as the script wants it";
      return send(reply.status, JSON.stringify({ type: "error", error: { type: "api_error", message } }));
    }
    if (isRecording) {
      const usage = { type: "tokens", input_tokens: USAGE.input, output_tokens: USAGE.output };
      return send(200, reply.raw ?? JSON.stringify({ text: (reply.text ?? []).join(""), usage }));
    }
    if (reply.whole)
      return send(200, JSON.stringify(isAnthropic ? anthropicAnswer(reply, body) : openaiAnswer(reply, body)));
    response.writeHead(200, { "content-type": "text/event-stream", ...reply.headers });
    if (reply.raw !== undefined) return void response.end(reply.raw);
    const events = isAnthropic ? anthropicEvents(reply, body) : openaiEvents(reply, body);
    for (const event of events) {
      if (event.isText && reply.pauseMs !== undefined) await delay(reply.pauseMs);
      if (event.isEnd && reply.cut) return void response.destroy();
      response.write(event.lines);
    }
    response.end();
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    answer(reply) {
      otherwise = reply;
    },
    next: (...replies) => void queue.push(...replies),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface SentEvent {
  readonly lines: string;
  readonly isText?: boolean;
  /** One of the events that mark the response as complete. */
  readonly isEnd?: boolean;
}

function* openaiEvents(reply: StubReply, body: AskedBody): Generator<SentEvent> {
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: body.model };
  const chunk = (delta: unknown, finish_reason: string | null = null, more = {}): string =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
  yield { lines: chunk({ role: "assistant", content: "" }) };
  for (const text of reply.text ?? []) yield { lines: chunk({ content: text }), isText: true };
  for (const [index, { id, name, input }] of (reply.tools ?? []).entries()) {
    const [first, second] = halves(argumentsOf(input));
    yield { lines: chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: first } }] }) };
    yield { lines: chunk({ tool_calls: [{ index, function: { arguments: second } }] }) };
  }
  yield { lines: chunk({}, openaiFinish(reply)), isEnd: true };
  yield { lines: chunk({}, null, { choices: [], usage: OPENAI_USAGE }), isEnd: true };
  yield { lines: "data: [DONE]\n\n", isEnd: true };
}

const OPENAI_USAGE = {
  prompt_tokens: USAGE.input,
  completion_tokens: USAGE.output,
  total_tokens: USAGE.input + USAGE.output,
  prompt_tokens_details: { cached_tokens: USAGE.cached },
};

const ANTHROPIC_USAGE = {
  input_tokens: USAGE.input - USAGE.cached,
  cache_read_input_tokens: USAGE.cached,
  cache_creation_input_tokens: 0,
  output_tokens: USAGE.output,
};

function openaiFinish({ finish, tools }: StubReply): string {
  return finish === "refusal" ? "content_filter" : (finish ?? (tools ? "tool_calls" : "stop"));
}

function openaiAnswer(reply: StubReply, { model }: AskedBody): object {
  const tool_calls = reply.tools?.map(({ id, name, input }) => ({
    id,
    type: "function",
    function: { name, arguments: argumentsOf(input) },
  }));
  const message = { role: "assistant", content: reply.text?.join("") ?? null, ...(tool_calls && { tool_calls }) };
  const choices = [{ index: 0, message, finish_reason: openaiFinish(reply) }];
  return { id: "chatcmpl-1", object: "chat.completion", created: 1, model, choices, usage: OPENAI_USAGE };
}

function* anthropicEvents(reply: StubReply, body: AskedBody): Generator<SentEvent> {
  const event = (type: string, data: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  const usage = { ...ANTHROPIC_USAGE, output_tokens: 1 };
  const head = { content: [], stop_reason: null, stop_sequence: null, usage };
  const message = { id: "msg_1", type: "message", role: "assistant", model: body.model, ...head };
  yield { lines: event("message_start", { message }) };
  let index = 0;
  if (reply.text) {
    yield { lines: event("content_block_start", { index, content_block: { type: "text", text: "" } }) };
    for (const text of reply.text) {
      yield { lines: event("content_block_delta", { index, delta: { type: "text_delta", text } }), isText: true };
    }
    yield { lines: event("content_block_stop", { index }) };
    index += 1;
  }
  for (const { id, name, input } of reply.tools ?? []) {
    yield { lines: event("content_block_start", { index, content_block: { type: "tool_use", id, name, input: {} } }) };
    for (const partial_json of halves(argumentsOf(input))) {
      yield { lines: event("content_block_delta", { index, delta: { type: "input_json_delta", partial_json } }) };
    }
    yield { lines: event("content_block_stop", { index }) };
    index += 1;
  }
  const delta = { stop_reason: anthropicFinish(reply), stop_sequence: null };
  yield { lines: event("message_delta", { delta, usage: ANTHROPIC_USAGE }), isEnd: true };
  yield { lines: event("message_stop", {}), isEnd: true };
}

function anthropicFinish({ finish, tools }: StubReply): string {
  if (finish === undefined && tools) return "tool_use";
  return finish === undefined || finish === "stop" ? "end_turn" : finish === "length" ? "max_tokens" : finish;
}

function anthropicAnswer(reply: StubReply, { model }: AskedBody): object {
  const text = reply.text === undefined ? [] : [{ type: "text", text: reply.text.join("") }];
  // The input of a call that was cut off is empty, because this protocol has no place for invalid JSON.
  const calls = (reply.tools ?? []).map(({ id, name, input }) => {
    return { type: "tool_use", id, name, input: typeof input === "string" ? {} : input };
  });
  const content = [...text, ...calls];
  const stop = { stop_reason: anthropicFinish(reply), stop_sequence: null };
  return { id: "msg_1", type: "message", role: "assistant", model, content, ...stop, usage: ANTHROPIC_USAGE };
}

function argumentsOf(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input);
}

function halves(text: string): [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

/** A form with a recording, as `/v1/audio/transcriptions` takes it. */
async function readRecording(request: IncomingMessage, sent: Buffer): Promise<AskedBody> {
  const headers = { "content-type": request.headers["content-type"] ?? "" };
  const form = await new Response(new Uint8Array(sent), { headers }).formData();
  const file = form.get("file");
  const { name, type, size } = file instanceof File ? file : { name: "", type: "", size: 0 };
  const model = form.get("model");
  return { model: typeof model === "string" ? model : "", recording: { name, type, size } };
}

/** The model name with which the stub is tried out. */
export const STUB_MODEL = "model-stub";

/**
 * Calls the first tool if there are tools, with the question in its texts; returns a sample of the schema if there is one, judges if asked
 * to, and otherwise returns the last message, labelled as an echo.
 */
function scriptedReply({ body }: StubCall): StubReply {
  const asked = body as AskedBody;
  const [tool] = asked.tools ?? [];
  if (tool !== undefined && !isToolResult(asked)) {
    const input = withTexts(formSample(tool.function?.parameters ?? tool.input_schema), lastText(asked));
    return { tools: [{ id: "call_0", name: tool.function?.name ?? tool.name ?? "", input }] };
  }
  const schema = asked.response_format?.json_schema?.schema;
  if (schema !== undefined) return { text: [JSON.stringify(formSample(schema))] };
  if (asked.recording) {
    const { type, size } = asked.recording;
    return { text: [`[model-stub: no model, an echo] a recording of ${size} bytes (${type})`] };
  }
  const said = judgement(systemText(asked), lastText(asked));
  if (said !== null) return { text: [said] };
  const words = `[model-stub: no model, an echo] ${lastText(asked)}`.split(/(?<=\s)(?=\S)/);
  return { text: words };
}

function isToolResult({ messages }: AskedBody): boolean {
  const last = messages?.at(-1);
  const isResult = ({ type }: { type?: string }): boolean => type === "tool_result";
  return last?.role === "tool" || (Array.isArray(last?.content) && last.content.some(isResult));
}

/** A sample of a tool's arguments, with this text in place of each string. */
function withTexts(sample: unknown, text: string): unknown {
  if (typeof sample !== "object" || sample === null) return {};
  const members = Object.entries(sample).map(([name, value]) => [name, value === "..." ? text : (value as unknown)]);
  return Object.fromEntries(members) as unknown;
}

function lastText(body: AskedBody): string {
  return textOf(body.messages?.at(-1)?.content);
}

/** The system prompt: the first message, or a separate field. */
function systemText({ messages, system }: AskedBody): string {
  return textOf(system ?? messages?.find(({ role }) => role === "system")?.content);
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: string }) => part.text ?? "").join("");
}
