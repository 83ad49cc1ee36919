import type { LlmConfig } from "../../../src/domain/flow/nodes/llm.ts";
import type { Json } from "../../../src/domain/json.ts";
import type { Citation } from "../../../src/domain/knowledge/citations.ts";
import { CITE_SOURCES, numberedFrom, type FoundSources } from "../../../src/domain/knowledge/sources.ts";
import type { ToolAnswer } from "../../../src/domain/models/agent.ts";
import { forModel } from "../../../src/domain/providers/mcp/for-model.ts";
import type { ChatMessage } from "../../../src/domain/models/chat.ts";
import { loadValue } from "../../../src/platform/blobs/blobs.ts";
import { maskJson } from "../../../src/platform/logging/mask-json.ts";
import { createMaskValues } from "../../../src/platform/logging/mask-values.ts";
import type { Parts } from "../../../src/services/parts.ts";
import type { NodeExecution } from "../executor.ts";
import { textsIn } from "../open-conversation.ts";
import { fixedInputs } from "./call-tool.ts";
import type { Conversation, OpenCall } from "./conversation.ts";

/** Longest output of a tool that a model gets (characters of JSON). A longer one is replaced by a note. */
const MAX_OUTPUT_CHARS = 256 * 1024;

interface Answers {
  readonly messages: readonly ChatMessage[];
  readonly made: readonly Json[];
  /** The sources of the whole conversation so far. */
  readonly sources: readonly Citation[];
}

/** The results of the tool calls, for the model and for the node's value. */
export async function readAnswers(
  deps: Parts<"blobs" | "evaluation">,
  execution: NodeExecution<LlmConfig>,
  { open, sources: before }: Pick<Conversation, "open" | "sources">,
  answers: readonly ToolAnswer[],
): Promise<Answers> {
  const sources = [...before];
  const messages: ChatMessage[] = [];
  const made: Json[] = [];
  for (const [at, call] of open.entries()) {
    const { call_id, name, path } = call;
    const answer = answers[at];
    if (answer === undefined) throw new Error(`the call ${path} has no answer`);
    const whole = forModel(await readOutput(deps, execution, call, answer));
    const size = "ref" in answer.output ? JSON.stringify(whole).length : 0;
    const tooLong = size > MAX_OUTPUT_CHARS;
    const output = tooLong
      ? failure("tool_output_too_long", `The tool's output has ${size} characters. Ask for less at once.`)
      : whole;
    const failed = answer.failed || tooLong;
    messages.push({
      role: "tool",
      call_id,
      name,
      output: failed ? output : numbered(execution, call, output, sources),
      ...(failed ? { failed } : {}),
    });
    made.push({ name, arguments: call.arguments, path, failed });
  }
  return { messages, made, sources };
}

/** Numbers a search's passages, continuing after the ones that the model already has. */
function numbered({ config }: NodeExecution<LlmConfig>, { tool }: OpenCall, output: Json, sources: Citation[]): Json {
  if (tool === null || config.tools?.[tool]?.type !== "knowledge") return output;
  const { text, citations } = numberedFrom(output as unknown as FoundSources, sources.length);
  sources.push(...citations);
  return { text: text === "" ? "Nothing was found." : `${CITE_SOURCES}\n\n${text}` };
}

/** Loads a call's output; in that of a failed action, the flow's fixed inputs are masked because the model must not see them. */
async function readOutput(
  { blobs, evaluation }: Parts<"blobs" | "evaluation">,
  { org_id, config, scope }: NodeExecution<LlmConfig>,
  call: OpenCall,
  answer: ToolAnswer,
): Promise<Json> {
  const output = await loadValue(blobs, answer.output);
  const tool = call.tool === null ? undefined : config.tools?.[call.tool];
  if (!answer.failed || tool?.type !== "action") return output;
  return maskJson(output, createMaskValues(textsIn(await fixedInputs(evaluation, org_id, tool, scope))));
}

function failure(code: string, message: string): Json {
  return { error: { code, message } };
}
