import { expect, it } from "vitest";
import { transcribe } from "../../src/platform/models/transcribe.ts";

const ENDPOINT = { protocol: "openai", base_url: "http://127.0.0.1:1/v1", headers: {} } as const;
const WHAT = { model: "m", recording: { bytes: new Uint8Array([1]), type: "audio/mpeg" } };

/** Never responds. */
const silent: typeof fetch = (_, init) =>
  new Promise((_resolve, reject) => {
    init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
  });

it("ends a transcription without a response with a retryable error", async () => {
  const limits = { signal: new AbortController().signal, silenceMs: 20 };
  await expect(transcribe(silent, ENDPOINT, WHAT, limits)).rejects.toMatchObject({
    failure: "model_timeout",
    message: "127.0.0.1:1 did not respond for 20 ms.",
    retryable: true,
  });
});

it("ends a cancelled transcription with the reason of the cancel", async () => {
  const controller = new AbortController();
  const reason = new Error("cancelled");
  const ended = transcribe(silent, ENDPOINT, WHAT, { signal: controller.signal, silenceMs: 60_000 });
  controller.abort(reason);
  await expect(ended).rejects.toBe(reason);
});
