import type { ImageConfig } from "../../src/domain/flow/nodes/image.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { ModelCaller } from "../../src/services/models/call-model.ts";
import type { ParseDocument } from "../parse-document.ts";
import { accountOf } from "./ask-model.ts";
import type { NodeExecutor } from "./executor.ts";
import type { LoadMedia } from "./media.ts";

/** An `image` node with the input that the run gave it. */
export type GivenImage = ImageConfig & { readonly node_id: string; readonly given: string };

export interface ImageDeps {
  readonly models: ModelCaller;
  readonly load: LoadMedia;
  readonly parse: ParseDocument;
}

/** Executes `image` nodes by a vision model, or by character recognition in this process. */
export function createImageExecutor({ models, load, parse }: ImageDeps): NodeExecutor<GivenImage> {
  return async (execution) => {
    const { org_id, project_id, config, scope, signal } = execution;
    const { node_id, given, mode, prompt } = config;
    const { user_id } = scope.run;
    const { bytes, type } = await load("image", given, { org_id, project_id, user_id, node_id, signal });
    const inputs = { image: { type, bytes: bytes.length } };
    if (mode === "ocr") {
      const picture = { org_id, content: { bytes }, filename: null, declared: type, ocr: true, signal };
      const { text } = await parse(picture).catch((error: unknown) => {
        if (error instanceof NodeFailure && error.code === "document_empty") return { text: "" };
        throw error;
      });
      return { output: { text }, inputs };
    }
    const images = [{ base64: bytes.toString("base64"), mime_type: type }];
    const request = { messages: [{ role: "user" as const, content: prompt, images }] };
    const { text } = await models.call({ ...accountOf(execution), step: 1, request });
    return { output: { text }, inputs: { ...inputs, prompt } };
  };
}
