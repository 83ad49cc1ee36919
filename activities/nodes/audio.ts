import type { AudioConfig } from "../../src/domain/flow/nodes/audio.ts";
import type { ModelCaller } from "../../src/services/models/call-model.ts";
import { accountOf } from "./ask-model.ts";
import type { NodeExecutor } from "./executor.ts";
import type { LoadMedia } from "./media.ts";

/** An `audio` node with the input that the run gave it. */
export type GivenAudio = AudioConfig & { readonly node_id: string; readonly given: string };

/** Executes `audio` nodes: a model transcribes the recording. */
export function createAudioExecutor(deps: {
  readonly models: ModelCaller;
  readonly load: LoadMedia;
}): NodeExecutor<GivenAudio> {
  return async (execution) => {
    const { org_id, project_id, config, scope, signal } = execution;
    const { user_id } = scope.run;
    const reader = { org_id, project_id, user_id, node_id: config.node_id, signal };
    const { bytes, type } = await deps.load("audio", config.given, reader);
    const request = { recording: { bytes, type } };
    const { text } = await deps.models.call({ ...accountOf(execution), step: 1, request });
    return { output: { text }, inputs: { audio: { type, bytes: bytes.length } } };
  };
}
