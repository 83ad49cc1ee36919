import { isObject, type Json, type StoredValue } from "../../../src/domain/json.ts";
import type { AgentCall } from "../../../src/domain/models/agent.ts";
import type { ChatAnswer } from "../../../src/domain/models/chat.ts";
import { createInlineBudget, storeValue } from "../../../src/platform/blobs/blobs.ts";
import type { Evaluation } from "../../../src/platform/evaluation/evaluation.ts";
import type { FoundTool } from "../../../src/services/models/find-tools.ts";
import type { Parts } from "../../../src/services/parts.ts";
import { lengthLimit } from "../llm-answer.ts";
import { skillOf, type PinnedSkill } from "./skills.ts";

/** Arguments of one step's calls that the workflow carries by value (characters of JSON). */
const MAX_CARRIED = 128 * 1024;
const MAX_FAULTS = 10;
const MAX_FAULT_CHARS = 1000;
const MAX_NAME = 64;

/** The tool calls of a model, checked: the model gets an error for an invalid call, which is not executed. */
export async function readCalls(
  { blobs, evaluation }: Parts<"blobs" | "evaluation">,
  orgId: string,
  { tools, skills }: { readonly tools: readonly FoundTool[]; readonly skills: readonly PinnedSkill[] },
  { tool_calls: asked, finish_reason }: Pick<ChatAnswer, "tool_calls" | "finish_reason">,
  max_tokens: number | undefined,
): Promise<AgentCall[]> {
  const carry = createInlineBudget(blobs, orgId, MAX_CARRIED);
  const calls: AgentCall[] = [];
  for (const [at, { name, input }] of asked.entries()) {
    const found = tools.find((each) => each.name === name);
    // The last call of a cut reply counts as cut even if its arguments are valid JSON, because some may be missing.
    const isCut = finish_reason === "length" && (at === asked.length - 1 || !isObject(input));
    const fault = isCut
      ? cutCall(max_tokens)
      : found
        ? await faultOf(evaluation, orgId, found, input)
        : unknownTool(name, tools);
    const stored: StoredValue = await carry(await storeValue(blobs, orgId, input));
    const skill = fault === null ? skillOf(skills, name, input) : undefined;
    calls.push({
      name: name.slice(0, MAX_NAME).toWellFormed(),
      type: found?.type ?? "llm",
      tool: found?.tool ?? null,
      ...(found?.action_id === undefined ? {} : { action_id: found.action_id }),
      ...(skill === undefined ? {} : { skill }),
      arguments: stored,
      approval: found?.approval ?? false,
      ...(fault === null
        ? {}
        : { refused: { ...fault, message: fault.message.slice(0, MAX_FAULT_CHARS).toWellFormed() } }),
    });
  }
  return calls;
}

type Refusal = NonNullable<AgentCall["refused"]>;

function cutCall(max_tokens: number | undefined): Refusal {
  const { limit, raise } = lengthLimit(max_tokens);
  const message = `The call is incomplete and was not made: the answer reached ${limit}. Repeat it with shorter arguments. To allow longer ones, the author of the flow can ${raise}.`;
  return { code: "tool_call_cut", message };
}

function unknownTool(name: string, tools: readonly FoundTool[]): Refusal {
  const names = tools.map((each) => each.name).join(", ");
  return { code: "unknown_tool", message: `There is no tool ${name.slice(0, MAX_NAME)}. The tools are: ${names}.` };
}

async function faultOf(evaluation: Evaluation, orgId: string, tool: FoundTool, input: Json): Promise<Refusal | null> {
  const code = "invalid_tool_arguments";
  if (!isObject(input)) return { code, message: "The arguments are not a JSON object." };
  const issues = await evaluation.answer(orgId, tool.input_schema, input);
  if (issues.length === 0) return null;
  const faults = issues
    .slice(0, MAX_FAULTS)
    .map(({ path, message }) => `${path.join(".") || "the arguments"}: ${message}`);
  return { code, message: `The arguments do not fit the tool: ${faults.join("; ")}.` };
}
