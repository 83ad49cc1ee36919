import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { StoredValue } from "../../../src/domain/json.ts";
import { createPayloadCipher } from "../../../src/platform/secrets/payload-cipher.ts";
import { createSecretBox } from "../../../src/platform/secrets/seal.ts";
import { createStartInputs } from "../../../src/services/runs/start-inputs.ts";
import { createDataKeys } from "../../../src/services/secrets/data-keys.ts";
import { resealSecrets } from "../../../src/services/secrets/reseal.ts";
import { keysIn } from "../../../src/stores/system/blob-sweep.ts";
import { getRun, type NewRun } from "../../../src/stores/runs/runs.ts";
import { buildRun, buildTenant, ownDatabase } from "../../stores/rows.ts";

const own = ownDatabase();
const CARD = "4111-of-a-run-to-come";
const BLOB = "0197f0a0-0000-7000-8000-00000000000a/0197f0a0-0000-7000-8000-00000000000b";
const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
const shown = { "in-0": { v: "[redacted]" }, "in-1": { v: "[redacted]" } };
const given: Record<string, StoredValue> = {
  "in-0": { v: CARD },
  "in-1": { ref: { key: BLOB, size: 3, sha256: "0" } } as unknown as StoredValue,
};

/** A process with these master keys. */
const process = (keys: readonly Buffer[], seals = true) =>
  createStartInputs(createPayloadCipher(createDataKeys(own.database, createSecretBox(keys), "payloads")), { seals });

/** Stores the row of a run as this process does; returns it as it is read back. */
async function stored(by: ReturnType<typeof process>, start_input: NewRun["start_input"]) {
  const tenant = await buildTenant(own.database);
  const before = (await own.database.system(async (db) =>
    getRun(db, await buildRun(own.database, tenant, { inputs: shown })),
  )) as NewRun;
  const { run_id } = before;
  await own.database.system((db) => db.query("delete from runs where run_id = $1::uuid", [run_id]));
  const sealed = await by.seal({ ...before, start_input });
  await buildRun(own.database, tenant, sealed);
  const row = await own.database.system((db) => getRun(db, run_id));
  if (!row) throw new Error("the run is gone");
  return row;
}

it("redacted inputs are encrypted until the run starts and remain readable after a change of the master key", async () => {
  const row = await stored(process([oldKey]), { depth: 2, inputs: given });
  expect(JSON.stringify(row)).not.toContain(CARD);
  // The sweep of blobs finds the key that the run needs.
  const keys = await own.database.system((db) =>
    db.query<Record<string, string>>(keysIn({ table: "runs", column: "start_input" })),
  );
  expect(keys.flatMap(Object.values)).toContain(BLOB);

  await resealSecrets(own.database, createSecretBox([newKey, oldKey]));
  const { inputs, depth } = await process([newKey]).open(row);
  expect([inputs, depth]).toEqual([given, 2]);
  await expect(process([oldKey]).open(row)).rejects.toThrow();
  const other = { ...row, run_id: "0197f0a0-0000-7000-8000-00000000000c" };
  await expect(process([newKey]).open(other)).rejects.toThrow(
    "The payload was changed, or belongs to another workflow.",
  );
});

it("older rows stay readable, and MILLRACE_PAYLOAD_ENCRYPTION=read encrypts nothing", async () => {
  const reading = process([newKey], false);
  const old = await stored(reading, { inputs: given });
  expect(old.start_input).toEqual({ inputs: given });
  expect((await process([newKey]).open(old)).inputs).toEqual(given);
  const sealed = await stored(process([newKey]), { inputs: given });
  expect((await reading.open(sealed)).inputs).toEqual(given);
  // A run without redacted inputs has nothing to encrypt.
  const plain = await stored(process([newKey]), {});
  expect([plain.start_input, (await reading.open(plain)).inputs]).toEqual([{}, shown]);
});
