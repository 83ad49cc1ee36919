import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../../support/scratch.ts";
import { startService } from "../../support/service.ts";
import { makeDataset, rowsPath } from "../evals/evals.ts";
import { echo, openTenant } from "../tenant.ts";

it("an erasure does not complete while a stored response in the blob store is unreadable", async () => {
  const own = await startService({ env: { MILLRACE_SEAL_BLOBS: "off" } });
  onTestFinished(() => own.close());
  const mine = await openTenant(own);
  const project_id = await mine.deploy(echo());
  const user_id = "of-the-answer";
  const { body: run } = await mine.secret.post("/v2/runs", {
    project_id,
    user_id,
    inputs: { "in-0": "x" },
    mode: "sync",
  });
  // Responses of 1 MiB and more are stored in the blob store.
  const row = { inputs: { "in-0": `As in ${run.run_id}. ${"text ".repeat(100_000)}` } };
  const add = () =>
    mine.secret.post(rowsPath(dataset), { rows: [row, row, row] }, { headers: { "idempotency-key": key } });
  const [dataset, key] = [await makeDataset(mine), randomUUID()];
  expect((await add()).status).toBe(201);

  const [file] = readdirSync(own.blobDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(run.run_id));
  if (file === undefined) throw new Error("The answer is not in the blob store");
  // A folder with the name of the file exists but cannot be read.
  renameSync(file, `${file}.away`);
  mkdirSync(file);
  const { body: asked } = await mine.secret.post("/v2/erasures", { user_id });
  const now = async () => (await mine.secret.get(`/v2/erasures/${asked.erasure_id}`)).body;
  await eventually("it says that a part has failed", async () => (await now()).problem !== null);
  expect((await now()).removed.idempotency_answers).toBeUndefined();

  rmdirSync(file);
  renameSync(`${file}.away`, file);
  const done = await eventually("it is done", async () => {
    const erasure = await now();
    return erasure.state === "COMPLETED" ? erasure : undefined;
  });
  expect(done).toMatchObject({ problem: null, removed: { runs: 1, idempotency_answers: 1, blobs: 1 } });
  expect((await add()).headers.get("idempotent-replayed")).toBeNull();
}, 120_000);
