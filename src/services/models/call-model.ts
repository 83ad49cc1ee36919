import { uuidv7 } from "uuidv7";
import type { ModelChoice } from "../../domain/models/choose.ts";
import type { ChatAnswer, ChatRequest, Recording } from "../../domain/models/chat.ts";
import { costOf, type PriceTable } from "../../domain/models/prices.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { createMaskValues } from "../../platform/logging/mask-values.ts";
import { redactSecrets } from "../../platform/logging/redaction.ts";
import { ChatError, streamChat } from "../../platform/models/stream-chat.ts";
import { transcribe } from "../../platform/models/transcribe.ts";
import type { Database } from "../../stores/db.ts";
import { hasModelCall, type ModelCallRow } from "../../stores/models/model-calls.ts";
import { deleteReservationsOf, spendingLimits } from "../../stores/models/spending.ts";
import { asChat } from "./chat-span.ts";
import { recountUsage } from "../runs/require-run.ts";
import type { ModelResolver, ResolvedModel } from "./resolve-model.ts";
import { createSpending, type AdmittedCall, type KeepAnswer } from "./spending.ts";

/** A call of a model, and the account that pays for it. */
export interface ModelCall extends Pick<
  ModelCallRow,
  "org_id" | "project_id" | "run_id" | "path" | "attempt" | "step"
> {
  readonly choice: ModelChoice;
  /** Whether this attempt was started before, by a process that may have died during a call. */
  readonly repeated: boolean;
  /** Tried in this order when the previous model cannot answer now. */
  readonly fallback_models?: readonly string[] | undefined;
  /** A conversation, or a recording to transcribe. */
  readonly request: Omit<ChatRequest, "model"> | { readonly recording: Recording };
  readonly signal: AbortSignal;
  /**
   * Prepares storing the answer, and returns a function that stores it in the transaction that records the call, so
   * that a crash leaves both or neither.
   */
  readonly keep?: (reply: ModelReply) => Promise<KeepAnswer>;
  /** Called with each piece of text; a new `beginning` means that another model starts over. */
  readonly onText?: (text: string, beginning: number) => void;
}

/** An answer, with its cost and the tokens it used. */
export interface ModelReply extends ChatAnswer {
  /** The model that answered. */
  readonly model: string;
  readonly usage: CallUsage;
}

export interface CallUsage extends Pick<ModelCallRow, "input_tokens" | "output_tokens" | "cost_usd" | "estimated"> {
  readonly total_tokens: number;
}

export type ModelCaller = ReturnType<typeof createModelCaller>;

export interface ModelCallerDeps {
  readonly db: Database;
  readonly models: ModelResolver;
  readonly prices: PriceTable;
  /** The monthly cost limit for models of an organisation without a quota of its own (US dollars). */
  readonly defaultMonth?: number | undefined;
}

/** Longest silence of an endpoint before and between tokens (ms). */
const SILENCE_MS = 120_000;
/** Characters per token, for endpoints that do not count tokens. */
const CHARS_PER_TOKEN = 4;
/** Tokens to reserve for an answer whose length is not limited. */
const EXPECTED_TOKENS = 4096;
/** Tokens to reserve for a picture, which is what model makers count for a large one. */
const TOKENS_OF_PICTURE = 1600;
/** Bytes of a recording per token to reserve; a low value, as for well compressed audio. */
const RECORDED_BYTES_PER_TOKEN = 400;

export function createModelCaller({ db, models, prices, defaultMonth }: ModelCallerDeps) {
  const spending = createSpending(db, defaultMonth);

  /** The record of a call that used these tokens. */
  function rowOf(
    { org_id, project_id, run_id, path, attempt, step }: ModelCall,
    { connection, model }: ResolvedModel,
    used: { readonly input: number; readonly output: number; readonly cached: number },
    end: Pick<ModelCallRow, "call_id" | "key_id" | "latency_ms" | "finish_reason" | "estimated">,
  ): ModelCallRow {
    const connection_id = connection?.connection_id ?? null;
    const place = { org_id, project_id, run_id, path, attempt, step, model, connection_id };
    const tokens = { input_tokens: used.input, output_tokens: used.output, cached_tokens: used.cached };
    return { ...place, ...tokens, cost_usd: costOf(prices, model, used), ...end };
  }

  async function ask(
    call: ModelCall,
    resolved: ResolvedModel,
    beginning: number,
    admitted: AdmittedCall,
  ): Promise<ModelReply> {
    const { connection, endpoint, model, fetch } = resolved;
    const began = Date.now();
    let received = "";
    let answered = false;
    const asked = askedChars(call.request);
    const write = async (
      finish: string,
      tokens: ChatAnswer["tokens"] | null,
      prepare?: (usage: CallUsage) => Promise<KeepAnswer>,
    ): Promise<CallUsage> => {
      const input = tokens?.input_tokens ?? Math.ceil(asked / CHARS_PER_TOKEN);
      const output = tokens?.output_tokens ?? Math.ceil(received.length / CHARS_PER_TOKEN);
      const cached = tokens?.cached_tokens ?? 0;
      const estimated = tokens === null || tokens.input_tokens === null || tokens.output_tokens === null;
      const { call_id, key_id } = admitted;
      const end = { call_id, key_id, latency_ms: Date.now() - began, finish_reason: finish, estimated };
      const row = rowOf(call, resolved, { input, output, cached }, end);
      const { cost_usd } = row;
      const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output, cost_usd, estimated };
      // The call must be paid for even if its answer cannot be stored, so it is recorded first and the node then asks
      // again.
      const kept: { readonly keep?: KeepAnswer; readonly error?: unknown } =
        (await prepare?.(usage).then(
          (keep) => ({ keep }),
          (error: unknown) => ({ error }),
        )) ?? {};
      await admitted.record(row, kept.keep);
      if ("error" in kept) throw kept.error;
      return usage;
    };
    try {
      const onText = (text: string): void => {
        received += text;
        call.onText?.(text, beginning);
      };
      const options = { signal: call.signal, silenceMs: SILENCE_MS };
      const answer =
        "recording" in call.request
          ? await transcribe(fetch, endpoint, { ...call.request, model }, options)
          : await streamChat(fetch, endpoint, { ...call.request, model }, { ...options, onText });
      received = answer.text;
      answered = true;
      const { keep } = call;
      const prepare = keep && ((usage: CallUsage) => keep({ ...answer, model, usage }));
      const usage = await write(answer.finish_reason, answer.tokens, prepare);
      await connection?.accepted();
      return { ...answer, model, usage };
    } catch (error) {
      // A complete answer was already recorded with its real cost, so no estimate is written.
      if (answered) throw error;
      if (error instanceof ChatError) {
        // A call that failed before the model wrote anything costs nothing.
        if (received !== "") await write(error.failure, null);
        if (error.status === 401 && connection)
          await connection.rejected(`${new URL(endpoint.base_url).origin} returned status 401.`);
        throw toNodeFailure(error, resolved.secrets);
      }
      if (call.signal.aborted && received !== "") {
        await write("cancelled", null);
        const { org_id, run_id, path } = call;
        if (run_id !== null) await db.orgTransaction(org_id, (connection) => recountUsage(connection, run_id, path));
      }
      throw error;
    }
  }

  /** Records a call whose process died before recording it; such a call counts as paid for. */
  async function writeLost(call: ModelCall, resolved: ResolvedModel): Promise<void> {
    const { org_id, run_id, path } = call;
    const used = { input: Math.ceil(askedChars(call.request) / CHARS_PER_TOKEN), output: 0, cached: 0 };
    await db.orgTransaction(org_id, async (connected) => {
      if (run_id !== null) await deleteReservationsOf(connected, run_id, path);
      if (await hasModelCall(connected, call)) return;
      const limits = await spendingLimits(connected, run_id);
      const { key_id } = limits;
      const end = { call_id: uuidv7(), key_id, latency_ms: 0, finish_reason: "lost", estimated: true };
      await spending.recordLost(connected, rowOf(call, resolved, used, end), limits);
    });
  }

  /** An upper estimate of a call's cost (US dollars); null if the model has no price. */
  function estimate({ request }: ModelCall, model: string): number | null {
    return costOf(prices, model, { ...mostTokens(request), cached: 0 });
  }

  return {
    /** Asks a model once. Each call is recorded with its cost, however it ends. Throws NodeFailure, or the signal's reason. */
    async call(call: ModelCall): Promise<ModelReply> {
      const names = [call.choice.model, ...(call.fallback_models ?? [])];
      for (const [at, model] of names.entries()) {
        const resolved = await models.resolve(call.org_id, { ...call.choice, model });
        if (call.repeated && at === 0) await writeLost(call, resolved);
        const { org_id, run_id, path, signal } = call;
        const amount = estimate(call, resolved.model);
        const admitted = await spending.admit({ org_id, run_id, path, model: resolved.model, amount, signal });
        try {
          return await asChat(call.request, resolved, () => ask(call, resolved, at, admitted));
        } catch (error) {
          await admitted.release();
          const isLast = at === names.length - 1;
          if (isLast || !(error instanceof NodeFailure) || !error.retryable) throw error;
        }
      }
      throw new Error("no model was called");
    },
  };
}

/** Length of the question, to estimate its tokens; pictures and recordings do not count. */
function askedChars(request: ModelCall["request"]): number {
  if ("recording" in request) return 0;
  return JSON.stringify(request.messages, (key, value: unknown) => (key === "base64" ? "" : value)).length;
}

/** An upper estimate of the tokens that a call uses. */
function mostTokens(request: ModelCall["request"]): { readonly input: number; readonly output: number } {
  if ("recording" in request) {
    const tokens = Math.ceil(request.recording.bytes.length / RECORDED_BYTES_PER_TOKEN);
    return { input: tokens, output: tokens };
  }
  const { messages, tools, schema, max_tokens = EXPECTED_TOKENS } = request;
  const offered = tools === undefined && schema === undefined ? 0 : JSON.stringify([tools, schema]).length;
  const pictures = messages.reduce((sum, each) => sum + ("images" in each ? (each.images?.length ?? 0) : 0), 0);
  const input = Math.ceil((askedChars(request) + offered) / CHARS_PER_TOKEN) + pictures * TOKENS_OF_PICTURE;
  return { input, output: max_tokens };
}

function toNodeFailure(error: ChatError, secrets: readonly string[]): NodeFailure {
  // Secrets are masked even if cut, because a quotation of the response may end in the middle of one.
  return new NodeFailure(error.failure, redactSecrets(createMaskValues(secrets)(error.message, true)), {
    retryable: error.retryable,
    upstream: true,
    retry_after_ms: error.retry_after_ms,
    cause: error,
  });
}
