import type { ChatRequest } from "../../src/domain/models/chat.ts";
import type { LlmConfig } from "../../src/domain/flow/nodes/llm.ts";
import { answersInText } from "../../src/domain/flow/plan/streamed-outputs.ts";
import type { ModelCall, ModelCaller, ModelReply } from "../../src/services/models/call-model.ts";
import type { TextWriter } from "../../src/services/runs/write-texts.ts";
import { missingAnswer } from "./llm-answer.ts";
import type { NodeExecution } from "./executor.ts";
import type { ModelChoice } from "../../src/domain/models/choose.ts";

export interface AskDeps {
  readonly models: ModelCaller;
  readonly texts: TextWriter;
}

/** Asks the model of an `llm` node at a step of its conversation. Streams of the run show the answer while it is written. */
export async function askModel(
  { models, texts }: AskDeps,
  execution: NodeExecution<LlmConfig>,
  question: Pick<ModelCall, "path" | "step" | "keep"> & { readonly request: Omit<ChatRequest, "model"> },
): Promise<ModelReply> {
  const { run_id, config } = execution;
  const account = { ...accountOf(execution), run_id, path: question.path };
  const { step, keep } = question;
  const missing = (reply: ModelReply) => missingAnswer(reply, question.request);
  const live = execution.may_show && answersInText(config) ? texts.open({ ...account, step }) : null;
  try {
    const reply = await models.call({
      ...account,
      ...question,
      // Invalid answers are not stored for retries, because the model must be asked again.
      ...(keep && { keep: async (given) => (missing(given) ? async () => undefined : keep(given)) }),
      fallback_models: config.fallback_models,
      ...(live && { onText: live.write }),
    });
    const fault = missing(reply);
    if (fault) throw fault;
    return reply;
  } finally {
    await live?.close();
  }
}

type Account = Pick<
  ModelCall,
  "org_id" | "project_id" | "run_id" | "path" | "attempt" | "repeated" | "choice" | "signal"
>;

/** The model that a node calls, and the account that pays for it. */
export function accountOf(execution: NodeExecution<ModelChoice>): Account {
  const { org_id, project_id, run_id, path, attempt, repeated = false, signal, config } = execution;
  const { model, connection_id } = config;
  return { org_id, project_id, run_id, path, attempt, repeated, signal, choice: { model, connection_id } };
}
