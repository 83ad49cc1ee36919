import type { Json } from "../../../src/domain/json.ts";
import type { ChatMessage } from "../../../src/domain/models/chat.ts";
import type { ModelReply } from "../../../src/services/models/call-model.ts";

/** What has been said, kept between two steps: long, so the workflow carries a reference to it. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  /** The replies of the steps so far, without their texts' history: for what they took. */
  readonly replies: readonly Pick<ModelReply, "usage">[];
  /** Calls whose answers come next. */
  readonly open: readonly OpenCall[];
  /** The calls that were answered, as the node's value tells of them. */
  readonly made: readonly Json[];
  /** Whether an answer that breaks the schema has been given back. */
  readonly repaired: boolean;
}

export interface OpenCall {
  readonly call_id: string;
  readonly name: string;
  readonly tool: number | null;
  readonly path: string;
  readonly arguments: Json;
}
