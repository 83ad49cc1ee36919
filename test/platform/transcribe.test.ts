import { expect, it } from "vitest";
import { transcribe } from "../../src/platform/models/transcribe.ts";

const ENDPOINT = { protocol: "openai", base_url: "http://127.0.0.1:1/v1", headers: {} } as const;
const WHAT = { model: "m", recording: { bytes: new Uint8Array([1]), type: "audio/mpeg" } };

/** Never answers. */
const silent: typeof fetch = (_, init) =>
  new Promise((_resolve, reject) => {
    init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
  });

it("ends a transcription that nothing is heard of, and can be tried again", async () => {
  const limits = { signal: new AbortController().signal, silenceMs: 20 };
  await expect(transcribe(silent, ENDPOINT, WHAT, limits)).rejects.toMatchObject({
    failure: "model_timeout",
    message: "127.0.0.1:1 has not answered for 20 ms.",
    retryable: true,
  });
});

it("ends a transcription that is no longer wanted with the reason for that", async () => {
  const controller = new AbortController();
  const reason = new Error("cancelled");
  const ended = transcribe(silent, ENDPOINT, WHAT, { signal: controller.signal, silenceMs: 60_000 });
  controller.abort(reason);
  await expect(ended).rejects.toBe(reason);
});
