import type { LlmConfig } from "../../../src/domain/flow/nodes/llm.ts";
import { isObject, type Json, type JsonObject, type StoredValue } from "../../../src/domain/json.ts";
import {
  MAX_TOOL_CALLS,
  ownerOf,
  toolPath,
  type AgentCall,
  type AgentStep,
  type AgentStepPart,
  type ReusedAnswer,
} from "../../../src/domain/models/agent.ts";
import type { ChatMessage } from "../../../src/domain/models/chat.ts";
import { NodeFailure } from "../../../src/domain/runs/failure.ts";
import { loadValue, storeReference, storeValue } from "../../../src/platform/blobs/blobs.ts";
import type { ModelReply } from "../../../src/services/models/call-model.ts";
import { earlierAnswers } from "../../../src/services/models/earlier-answers.ts";
import { findTools } from "../../../src/services/models/find-tools.ts";
import { answerOnce } from "../../../src/services/models/step-answers.ts";
import type { Parts } from "../../../src/services/parts.ts";
import { askModel, type AskDeps } from "../ask-model.ts";
import type { NodeExecution, NodeOutcome } from "../executor.ts";
import { cutAnswer, invalidAnswer, outputOf, readAnswer, repairOf, requestOf } from "../llm-answer.ts";
import { loadImages, withImages, type ImagesDeps } from "../llm-images.ts";
import { citationsIn, closeConversation, openConversation, withSystemText } from "../open-conversation.ts";
import { readAnswers } from "./answers.ts";
import { readCalls } from "./calls.ts";
import type { Conversation, OpenCall } from "./conversation.ts";
import { pinSkills, skillsText, skillTools } from "./skills.ts";

export interface AgentStepDeps extends AskDeps, ImagesDeps, Parts<"db" | "blobs"> {
  readonly limits: { readonly max_input_bytes: number };
}

type Step = (execution: NodeExecution<LlmConfig>, part: AgentStepPart) => Promise<NodeOutcome>;

/** Asks the model once, and returns its tool calls or the node's value. */
export function createAgentStep({ db, blobs, evaluation, models, texts, load, limits }: AgentStepDeps): Step {
  async function begin(execution: NodeExecution<LlmConfig>): Promise<Conversation> {
    const { org_id, config, path } = execution;
    const { messages, ...opened } = await openConversation({ db, evaluation }, execution, ownerOf(path));
    const skills = await pinSkills({ db, blobs }, org_id, config.skills ?? []);
    const instructed = skills.length === 0 ? messages : withSystemText(messages, skillsText(skills));
    const asked = { messages: instructed, asked_at: instructed.length - 1, skills };
    return { ...opened, ...asked, replies: [], open: [], made: [], repaired: false, reusing: true };
  }

  return async (execution, part) => {
    const { org_id, config, path } = execution;
    const before =
      part.conversation === null
        ? await begin(execution)
        : ((await loadValue(blobs, part.conversation)) as unknown as Conversation);
    const answered = await readAnswers({ blobs, evaluation }, execution, before, part.answers);
    const messages = [...before.messages, ...answered.messages];
    const made = [...before.made, ...answered.made];
    const { sources } = answered;
    const { skills } = before;

    const tools = [...skillTools(skills), ...(await findTools(db, execution, config.tools ?? [], limits))];
    const offered = tools.map(({ name, description, input_schema }) => ({ name, description, input_schema }));
    // Pictures are loaded again at each step, because the stored conversation would hold a copy for each step.
    const pictured = withImages(messages, await loadImages({ evaluation, load }, execution), before.asked_at);
    const earlier = before.reusing === true ? part.earlier_run : undefined;
    const place = { ...execution, asked: before.asked ?? "", earlier_run: earlier };
    const { reply, reused } = await answerOnce({ db, blobs }, place, (keep) =>
      askModel({ models, texts }, execution, {
        path: ownerOf(path),
        step: part.step,
        request: { ...requestOf(config, pictured, part.step), tools: offered },
        keep,
      }),
    );
    const replies = [...before.replies, { usage: reply.usage }];
    const asked = { skills, tools: offered.map(({ name }) => name), messages };
    const inputs = part.step === 1 ? { inputs: asked as unknown as Json } : {};

    if (reply.tool_calls.length > 0) {
      if (part.calls_before + reply.tool_calls.length > MAX_TOOL_CALLS) {
        const message = `The model requested more than ${MAX_TOOL_CALLS} tool calls. Give it fewer tools, or a narrower question.`;
        throw new NodeFailure("tool_calls_exhausted", message);
      }
      // After the last step the model cannot repeat a call that was cut, so the cut fails the node.
      const cut = part.step === config.max_steps ? cutAnswer(reply, config.max_tokens) : null;
      if (cut) throw cut;
      const calls = await readCalls({ blobs, evaluation }, org_id, { tools, skills }, reply, config.max_tokens);
      const open = reply.tool_calls.map(({ call_id, input }, at): OpenCall => ({
        call_id,
        name: calls[at]?.name ?? "",
        tool: calls[at]?.tool ?? null,
        path: toolPath(ownerOf(path), part.calls_before + at),
        arguments: input,
      }));
      const said: ChatMessage = {
        role: "assistant",
        content: reply.text,
        tool_calls: reply.tool_calls.map((call) => ({ ...call, input: asObject(call.input) })),
      };
      const paths = open.map((call) => call.path);
      const answers =
        reused && earlier !== undefined ? await earlierAnswers({ db, blobs }, execution, earlier, paths) : [];
      const goingOn = { ...before, messages: [...messages, said], sources, replies, open, made, reusing: reused };
      return goOn(org_id, reply, goingOn, withAnswers(calls, answers), { ...inputs, reused });
    }

    let json: Json = null;
    if (config.schema !== undefined) {
      const read = await readAnswer(evaluation, org_id, config.schema, reply.text);
      if ("fault" in read) {
        if (before.repaired) throw invalidAnswer(read.fault);
        const again = [...messages, ...repairOf(reply.text, read.fault)];
        const said = { ...before, messages: again, sources, replies, open: [], made, repaired: true, reusing: reused };
        return goOn(org_id, reply, said, [], { ...inputs, reused });
      }
      ({ json } = read);
    }
    const citations = citationsIn(reply.text, json, sources);
    const output = outputOf([...replies.slice(0, -1), reply], json, { tool_calls: made, citations });
    const value = await storeValue(blobs, org_id, output);
    await closeConversation({ db }, execution, ownerOf(path), before.question, reply.text);
    const last: AgentStep = { conversation: { v: null }, calls: [], value };
    const cited = sources.length === 0 ? {} : { citations: citations as unknown as Json[] };
    return { output: replyOutput(reply), carried: { v: last as unknown as Json }, reused, ...inputs, ...cited };
  };

  async function goOn(
    orgId: string,
    reply: ModelReply,
    said: Conversation,
    calls: readonly AgentCall[],
    more: Pick<NodeOutcome, "inputs" | "reused">,
  ): Promise<NodeOutcome> {
    const reference: StoredValue = await storeReference(blobs, orgId, JSON.stringify(said));
    const step: AgentStep = { conversation: reference, calls };
    return { output: replyOutput(reply), carried: { v: step as unknown as Json }, ...more };
  }
}

function withAnswers(calls: readonly AgentCall[], answers: ReadonlyArray<ReusedAnswer | null>): AgentCall[] {
  return calls.map((call, at) => {
    const reused = answers[at];
    return reused ? { ...call, reused } : call;
  });
}

/** Both model protocols accept a call's arguments in later requests only as an object, so unreadable ones are replaced. */
function asObject(input: Json): Json {
  return isObject(input) ? input : { invalid: input };
}

function replyOutput({ text, tool_calls, finish_reason, usage, model }: ModelReply): JsonObject {
  const calls = tool_calls.map(({ name, input }) => ({ name, arguments: input }));
  return { text, tool_calls: calls, finish_reason, usage: { ...usage }, model };
}
