import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from "vitest";
import { millrace } from "../cli/millrace.ts";
import { flow, openBench, type Bench } from "../engine/support.ts";
import type { TestClient } from "../support/client.ts";
import { administer } from "../support/database.ts";
import { scratchDirectory } from "../support/scratch.ts";
import { startServiceProcess } from "../support/service-processes.ts";
import { client, startService, type OwnService } from "../support/service.ts";

let own: OwnService;
let bench: Bench;
let run_id: string;
// Spans several encryption blocks of a blob, with characters of 1 to 4 bytes at their boundaries.
const text = "aé漢😀\n".repeat(30_000);
beforeAll(async () => {
  own = await startService({ env: { MILLRACE_SEAL_BLOBS: "on" } });
  bench = await openBench(own);
  const twice = flow(
    [
      { id: "in-0", type: "input" },
      { id: "tpl-0", type: "template", config: { template: "{{in-0}}{{in-0}}" } },
      { id: "out-0", type: "output", config: { value: "done" } },
    ],
    ["in-0>tpl-0", "tpl-0>out-0"],
  );
  const run = await bench.run(twice, { "in-0": text });
  expect(run.state).toBe("COMPLETED");
  ({ run_id } = run);
});
afterAll(() => own?.close());

/** The value of the template, read page by page. */
async function valueOf(api: TestClient, limit: number): Promise<string> {
  const pages: string[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const { status, body }: Awaited<ReturnType<TestClient["get"]>> = await api.get(`/v2/runs/${run_id}/node/value`, {
      query: { path: "tpl-0", offset, limit },
    });
    expect([status, body.offset, body.size]).toEqual([200, offset, Buffer.byteLength(JSON.stringify(text + text))]);
    pages.push(body.text);
    offset = body.next_offset;
  }
  return pages.join("");
}

it.each([65_536, 100_003])("a long value can be read in pages of %s bytes if blobs are encrypted", async (limit) => {
  expect(JSON.parse(await valueOf(bench.api, limit)) === text + text).toBe(true);
  const blobs = readdirSync(own.blobDir, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  expect(blobs.length).toBeGreaterThan(0);
  for (const { parentPath, name } of blobs)
    expect(readFileSync(join(parentPath, name)).includes(text.slice(0, 20))).toBe(false);
});

it("a long value is unchanged in an installation that was restored from a backup", async () => {
  const place = join(scratchDirectory(), "backup");
  const made = await millrace(["backup", place, "--json"], own.env);
  expect([made.code, made.stderr]).toEqual([0, ""]);
  const name = `restored_${randomBytes(4).toString("hex")}`;
  const { adminUrl, stateDir } = inject("millrace");
  await administer(adminUrl, `create database ${name}`);
  onTestFinished(() => administer(adminUrl, `drop database ${name} with (force)`));
  const url = new URL(own.databaseUrl);
  url.pathname = `/${name}`;
  const env = { ...own.env, DATABASE_URL: url.href, MILLRACE_BLOB_URL: scratchDirectory() };
  const restored = await millrace(["restore", place, "--json"], env);
  expect([restored.code, restored.stderr]).toEqual([0, ""]);
  const api = await startServiceProcess("api", env, stateDir);
  onTestFinished(() => api.kill());
  expect(JSON.parse(await valueOf(client({ url: api.url }, bench.secretKey), 100_003)) === text + text).toBe(true);
});
