import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { NoPlace } from "../../../../src/domain/places.ts";
import { createFileBlobStore } from "../../../../src/platform/blobs/blobs.ts";
import { createInputTurns } from "../../../../src/services/runs/long-inputs.ts";

const LONG = { "in-0": "ä".repeat(256 * 1024) };

it("noisy-neighbour: long inputs of an organisation are stored one at a time, others' beside them, and few wait", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-inputs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const files = await createFileBlobStore(folder);
  const storing: Array<{ readonly org: string; write(): void }> = [];
  const slow: typeof files = {
    ...files,
    put: async (org, ...rest) => {
      await new Promise<void>((write) => storing.push({ org, write }));
      return files.put(org, ...rest);
    },
  };
  const store = createInputTurns();
  const [a, b] = ["01890000-0000-7000-8000-00000000000a", "01890000-0000-7000-8000-00000000000b"];
  const many = Array.from({ length: 22 }, () => store(slow, a, LONG));
  const refused = await Promise.allSettled([many.at(-1)]);
  expect(refused[0]).toMatchObject({ status: "rejected", reason: expect.any(NoPlace) });
  const other = store(slow, b, LONG);
  await expect.poll(() => storing.map(({ org }) => org)).toEqual([a, b]);
  expect(await store(slow, a, { "in-0": "short" }), "short inputs wait for nothing").toEqual({
    "in-0": { v: "short" },
  });
  for (let at = 0; at < 22; at += 1) {
    await expect.poll(() => storing.length).toBeGreaterThan(at);
    storing[at]?.write();
  }
  expect(await other).toEqual({ "in-0": { ref: { $blob: expect.stringContaining(b), size: 2 * 256 * 1024 + 2 } } });
  expect(await Promise.all(many.slice(0, -1))).toHaveLength(21);
});
