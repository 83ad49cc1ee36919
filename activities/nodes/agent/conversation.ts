import type { Json } from "../../../src/domain/json.ts";
import type { Citation } from "../../../src/domain/knowledge/citations.ts";
import type { ChatMessage } from "../../../src/domain/models/chat.ts";
import type { ModelReply } from "../../../src/services/models/call-model.ts";
import type { PinnedSkill } from "./skills.ts";

/** The conversation between two steps. It is long, so the workflow carries a reference to it. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  /** The position of the node's prompt in the messages. Its pictures are not kept. */
  readonly asked_at?: number;
  /** The replies of the steps so far, without their texts, to add up the usage. */
  readonly replies: readonly Pick<ModelReply, "usage">[];
  /** Tool calls whose results the next step adds. */
  readonly open: readonly OpenCall[];
  /** The calls that have results, as the node's value lists them. */
  readonly made: readonly Json[];
  /** The node's prompt. */
  readonly question: string;
  /** A digest of what the node asks. Conversations of an earlier release have none. */
  readonly asked?: string;
  /** Whether all steps so far were reused from the run that this one resumes. */
  readonly reusing?: boolean;
  /** Passages found by searches, by the numbers that the model sees. */
  readonly sources: readonly Citation[];
  /** The versions of the node's skills, the same for all its steps. */
  readonly skills: readonly PinnedSkill[];
  /** Whether the model was already asked to repair an answer that broke the schema. */
  readonly repaired: boolean;
}

export interface OpenCall {
  readonly call_id: string;
  readonly name: string;
  readonly tool: number | null;
  readonly path: string;
  readonly arguments: Json;
}
