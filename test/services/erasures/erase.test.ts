import { uuidv7 } from "uuidv7";
import { expect, it, onTestFinished } from "vitest";
import { FIRST_PROGRESS } from "../../../src/domain/erasures/erasure.ts";
import { createFileBlobStore } from "../../../src/platform/blobs/blobs.ts";
import { eraseNext, type EraseDeps } from "../../../src/services/erasures/erase.ts";
import { eraseForTurn, type TurnDeps } from "../../../src/services/erasures/erase-user.ts";
import { keepBlobs } from "../../../src/stores/erasures/erase-runs.ts";
import { insertRemovedItems } from "../../../src/stores/erasures/erasure-items.ts";
import { insertErasure, type ErasureRow } from "../../../src/stores/erasures/erasures.ts";
import { buildTenant, ownDatabase } from "../../stores/rows.ts";
import { eventually, scratchDirectory } from "../../support/scratch.ts";

const own = ownDatabase();

/** A promise that stays pending until it is opened. */
function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open: () => open() };
}

/** An erasure with two blobs left to delete, and processes that continue it. */
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
    /** A process that continues it to its end, and does this before it deletes each blob. */
    async work(before: (key: string) => Promise<unknown> = async () => undefined): Promise<void> {
      const blobs = { delete: (key: string) => before(key).then(() => store.delete(key)) };
      const own_deps = { db: own.database, blobs, quietMs: 0, isClosed: () => false, note: () => undefined };
      while ((await eraseForTurn(own_deps as unknown as TurnDeps, erasure_id)) !== null);
    },
  };
}

it("is counted once, and its report never changes again, if a process that was taken for dead continues", async () => {
  const erasure = await blobsLeft();
  const removing: string[] = [];
  const stalled = gate();
  const first = erasure.work((key) => (removing.push(key), stalled.passed));
  await eventually("the first process removes blobs", () => removing.length === 2);
  await erasure.work();
  const report = await erasure.row();
  expect(report).toMatchObject({ state: "COMPLETED", removed: { blobs: 2 } });
  stalled.open();
  await first;
  expect(await erasure.row()).toEqual(report);
});

it("counts each blob once if two processes remove it at the same time", async () => {
  const erasure = await blobsLeft();
  const removing: string[] = [];
  const both = gate();
  const meet = (key: string) => (removing.push(key) === 4 ? both.open() : undefined, both.passed);
  await Promise.all([erasure.work(meet), erasure.work(meet)]);
  expect(removing.toSorted()).toEqual([...erasure.keys, ...erasure.keys].toSorted());
  expect(await erasure.row()).toMatchObject({ state: "COMPLETED", removed: { blobs: 2 } });
});

it("fails with the reason of a failed part, which the report does not quote, and continues", async () => {
  const erasure = await blobsLeft();
  const error = new Error("no space left for ada's blob");
  await expect(erasure.work(() => Promise.reject(error))).rejects.toBe(error);
  const { problem, state } = await erasure.row();
  expect([problem?.includes("worker logs"), problem?.includes("ada"), state]).toEqual([true, false, "RUNNING"]);
  await erasure.work();
  expect(await erasure.row()).toMatchObject({ state: "COMPLETED", removed: { blobs: 2 }, problem: null });
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
  const progress = { ...FIRST_PROGRESS, step: "histories" as const };
  await own.database.org(org_id, (db) =>
    db.query("update erasures set progress = $1::jsonb", [JSON.stringify(progress)]),
  );
  const open = { ...erasure, user_id: "ada", progress };

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
