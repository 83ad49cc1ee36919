import { uuidv7 } from "uuidv7";
import { expect, it, onTestFinished } from "vitest";
import { FIRST_PROGRESS } from "../../../src/domain/erasures/erasure.ts";
import { createFileBlobStore } from "../../../src/platform/blobs/blobs.ts";
import { eraseNext } from "../../../src/services/erasures/erase.ts";
import type { EraseDeps } from "../../../src/services/erasures/erase.ts";
import { startErasing } from "../../../src/services/erasures/sweeper.ts";
import { keepBlobs } from "../../../src/stores/erasures/erase-runs.ts";
import { insertRemovedItems } from "../../../src/stores/erasures/erasure-items.ts";
import { insertErasure } from "../../../src/stores/erasures/erasures.ts";
import type { ErasureRow } from "../../../src/stores/erasures/erasures.ts";
import { buildTenant, ownDatabase } from "../../stores/rows.ts";
import { eventually, scratchDirectory } from "../../support/scratch.ts";

const own = ownDatabase();

/** Long enough for a busy machine to renew it, which happens after a third (ms). */
const LEASE_MS = 900;

/** A promise that stays pending until it is opened. */
function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open: () => open() };
}

/** An erasure with two blobs left to delete, and workers that continue it. */
async function blobsLeft() {
  const { org_id } = await buildTenant(own.database);
  const store = await createFileBlobStore(scratchDirectory());
  onTestFinished(() => store.close());
  const stored = await Promise.all(
    ["one", "two"].map((text) => store.put(org_id, Buffer.from(text), { maxBytes: 100 })),
  );
  const keys = stored.map(({ key }) => key);
  const erasure_id = uuidv7();
  const row = { erasure_id, org_id, project_id: null, user_id: "ada", user_hash: "0".repeat(64) };
  await own.database.orgTransaction(org_id, async (db) => {
    await insertErasure(db, { ...row, created_by_type: "api_key", created_by_id: uuidv7() });
    await keepBlobs(db, row, keys);
    await db.query(`update erasures set progress = progress || '{"step": "blobs"}'`);
  });
  const query = <T extends object>(text: string) => own.database.org(org_id, (db) => db.query<T>(text));
  return {
    keys,
    query,
    async row() {
      const [found] = await query<ErasureRow>("select * from erasures");
      if (found === undefined) throw new Error("The erasure is there until its organisation goes.");
      return found;
    },
    /** A worker that executes this step before it deletes each blob. */
    work(leaseMs: number, before: (key: string) => Promise<unknown> = async () => undefined) {
      const failures: unknown[] = [];
      const blobs = { delete: (key: string) => before(key).then(() => store.delete(key)) };
      const deps = { db: own.database, blobs, quietMs: 0 } as unknown as EraseDeps;
      const worker = startErasing(deps, 10, (error) => failures.push(error), leaseMs);
      onTestFinished(() => worker.close());
      return { failures, close: worker.close };
    },
  };
}

it("a step that lasts longer than its lease is done by one worker alone", async () => {
  const erasure = await blobsLeft();
  const removing: string[] = [];
  const slowly = gate();
  const slow = (key: string) => (removing.push(key), slowly.passed);
  for (let n = 0; n < 2; n++) erasure.work(LEASE_MS, slow);
  const since = Date.now();
  await eventually("the first claim would be over", () => removing.length > 0 && Date.now() - since > 2 * LEASE_MS);
  slowly.open();
  await eventually("the end", async () => (await erasure.row()).finished_at !== null);
  expect(removing.toSorted()).toEqual(erasure.keys.toSorted());
  expect((await erasure.row()).removed).toEqual({ blobs: 2 });
});

it("a worker that lost its lease writes nothing more and leaves the report unchanged", async () => {
  const erasure = await blobsLeft();
  const removing: string[] = [];
  const paused = gate();
  const first = erasure.work(60_000, (key) => (removing.push(key), paused.passed));
  await eventually("the first worker removes blobs", () => removing.length === 2);
  // As if its process had stalled and renewed nothing.
  await erasure.query("update erasures set leased_until = now()");
  erasure.work(60_000);
  await eventually("the other one has ended it", async () => (await erasure.row()).finished_at !== null);
  const report = await erasure.row();
  expect(report).toMatchObject({ state: "COMPLETED", removed: { blobs: 2 } });
  paused.open();
  await first.close();
  expect(await erasure.row()).toEqual(report);
  expect(first.failures).toEqual([]);
});

it("reports a failed part to the error handler and hides the error's text from the report", async () => {
  const erasure = await blobsLeft();
  const error = new Error("no space left for ada's blob");
  const { failures } = erasure.work(60_000, () => Promise.reject(error));
  await eventually("it is told", () => failures.length > 0);
  expect(failures).toEqual([error]);
  const { problem, state } = await erasure.row();
  expect([problem?.includes("worker logs"), problem?.includes("ada"), state]).toEqual([true, false, "RUNNING"]);
});

it("continues after the histories only once Temporal has removed them, and counts each once", async () => {
  const { org_id } = await buildTenant(own.database);
  const [erasure_id, run_id, by, execution, slice] = [uuidv7(), uuidv7(), uuidv7(), uuidv7(), uuidv7()];
  let executions = [execution];
  const row = { erasure_id, org_id, project_id: null, user_id: "ada", user_hash: "0".repeat(64) };
  const erasure = await own.database.orgTransaction(org_id, async (db) => {
    const made = await insertErasure(db, { ...row, created_by_type: "api_key", created_by_id: by });
    await insertRemovedItems(db, row, "run", [run_id]);
    return made;
  });
  let isGone = false;
  const blobs = await createFileBlobStore(scratchDirectory());
  const deps = {
    db: own.database,
    blobs,
    // Simulates Temporal, which deletes histories in the background.
    histories: {
      async erase(_what, _id, note) {
        if (!isGone) await note({ executions, matches: [] });
        return isGone;
      },
    } satisfies EraseDeps["histories"],
  } as unknown as EraseDeps;
  if (erasure === null) throw new Error("The organisation is new, and has an erasure already.");
  const claim = uuidv7();
  await own.database.org(org_id, (db) => db.query("update erasures set claim = $1::uuid", [claim]));
  const open = { ...erasure, user_id: "ada", claim, progress: { ...FIRST_PROGRESS, step: "histories" as const } };

  const waiting = await eraseNext(deps, open);
  expect(waiting).toMatchObject({ progress: { step: "histories" }, waitMs: expect.any(Number) });
  expect(waiting !== "end" && waiting.waitMs).toBeGreaterThan(0);
  // As if the worker had died, and another one finds the same histories and one that was added since.
  executions = [execution, slice];
  await eraseNext(deps, open);
  const [counted] = await own.database.org(org_id, (db) => db.query("select removed from erasures"));
  expect(counted).toEqual({ removed: { histories: 2 } });
  isGone = true;
  await eraseNext(deps, open);
  expect(await eraseNext(deps, open)).toMatchObject({ progress: { step: "blobs" } });
  blobs.close();
});
