import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { FIRST_PROGRESS } from "../../../src/domain/erasures/erasure.ts";
import { createFileBlobStore } from "../../../src/platform/blobs/blobs.ts";
import { eraseNext } from "../../../src/services/erasures/erase.ts";
import type { EraseDeps } from "../../../src/services/erasures/erase.ts";
import { insertRemovedItems } from "../../../src/stores/erasures/erasure-items.ts";
import { insertErasure } from "../../../src/stores/erasures/erasures.ts";
import { buildTenant, ownDatabase } from "../../stores/rows.ts";
import { scratchDirectory } from "../../support/scratch.ts";

const own = ownDatabase();

it("goes on from the histories only once Temporal has removed them, and counts each once", async () => {
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
    // How it stands in Temporal, which removes in the background.
    histories: {
      async erase(_what, _id, note) {
        if (!isGone) await note({ executions, matches: [] });
        return isGone;
      },
    } satisfies EraseDeps["histories"],
  } as unknown as EraseDeps;
  if (erasure === null) throw new Error("The organisation is new, and has an erasure already.");
  const open = { ...erasure, user_id: "ada", progress: { ...FIRST_PROGRESS, step: "histories" as const } };

  const waiting = await eraseNext(deps, open);
  expect(waiting).toMatchObject({ progress: { step: "histories" }, waitMs: expect.any(Number) });
  expect(waiting !== "end" && waiting.waitMs).toBeGreaterThan(0);
  // As where the worker has died and another one finds it all again, with what has come since.
  executions = [execution, slice];
  await eraseNext(deps, open);
  const [counted] = await own.database.org(org_id, (db) => db.query("select removed from erasures"));
  expect(counted).toEqual({ removed: { histories: 2 } });
  isGone = true;
  await eraseNext(deps, open);
  expect(await eraseNext(deps, open)).toMatchObject({ progress: { step: "blobs" } });
  blobs.close();
});
