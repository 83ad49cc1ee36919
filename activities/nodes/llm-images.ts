import type { LlmConfig } from "../../src/domain/flow/nodes/llm.ts";
import { cel } from "../../src/domain/flow/nodes/spec.ts";
import type { Json } from "../../src/domain/json.ts";
import type { ChatImage, ChatMessage } from "../../src/domain/models/chat.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { Parts } from "../../src/services/parts.ts";
import type { NodeExecution } from "./executor.ts";
import type { LoadMedia } from "./media.ts";

export interface ImagesDeps extends Parts<"evaluation"> {
  readonly load: LoadMedia;
}

/** Most pictures for one question. */
const MAX_IMAGES = 20;

/** The pictures that a node's expression names. */
export async function loadImages(
  { evaluation, load }: ImagesDeps,
  { org_id, project_id, scope, config, signal }: NodeExecution<LlmConfig>,
): Promise<Array<Extract<ChatImage, { base64: string }>>> {
  if (config.images === undefined) return [];
  const [value = null] = await evaluation.sources(org_id, [cel(config.images, "images")], scope);
  const names: readonly Json[] = Array.isArray(value) ? value : [value];
  if (names.length > MAX_IMAGES || !names.every((name) => typeof name === "string")) {
    const message = `"images" must return a list of at most ${MAX_IMAGES} texts: file IDs, URLs or base64.`;
    throw new NodeFailure("invalid_images", message);
  }
  const { user_id } = scope.run;
  const loaded = [];
  for (const name of names) {
    const { bytes, type } = await load("image", name, { org_id, project_id, user_id, signal });
    loaded.push({ base64: bytes.toString("base64"), mime_type: type });
  }
  return loaded;
}

/** Adds the pictures to the question: the last message, or the one at `at`. */
export function withImages(
  messages: readonly ChatMessage[],
  images: readonly ChatImage[],
  at = messages.length - 1,
): readonly ChatMessage[] {
  if (images.length === 0) return messages;
  return messages.map((message, index) => (message.role === "user" && index === at ? { ...message, images } : message));
}
