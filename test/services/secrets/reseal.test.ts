import { randomBytes } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { beforeEach, describe, expect, it } from "vitest";
import { createSecretBox, SealBroken } from "../../../src/platform/secrets/seal.ts";
import type { Database } from "../../../src/stores/db.ts";
import { findEvaluator, insertEvaluator } from "../../../src/stores/evals/evaluators.ts";
import { secretContext } from "../../../src/stores/secrets/sealed.ts";
import { deleteSubscription, disableSubscription, rotateSecret } from "../../../src/stores/webhooks/subscriptions.ts";
import { resealSecrets } from "../../../src/services/secrets/reseal.ts";
import {
  openHeaders,
  openSecret,
  sealHeaders,
  sealSecret,
} from "../../../src/services/webhooks/subscription-secrets.ts";
import { buildTenant, ownDatabase, putSubscription } from "../../stores/rows.ts";
import { eventually } from "../../support/scratch.ts";

const HOUR_MS = 3_600_000;
const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
const [oldBox, newBox, bothBox] = [
  createSecretBox([oldKey]),
  createSecretBox([newKey]),
  createSecretBox([newKey, oldKey]),
];

const own = ownDatabase();
let database: Database;
let orgId: string;
beforeEach(async () => {
  database = own.database;
  await database.system((db) => db.query("delete from webhook_subscriptions"));
  ({ org_id: orgId } = await buildTenant(database));
});

/** A webhook with headers, encrypted under the old key. */
async function subscribe(box = oldBox, id = uuidv7()): Promise<string> {
  const sealed = { secret: sealSecret(box, id, `secret of ${id}`), headers: sealHeaders(box, id, { "x-of": id }) };
  await database.org(orgId, (db) => putSubscription(db, orgId, id, { ...sealed, header_names: ["x-of"] }));
  return id;
}

function rotate(id: string, secret: string, box = oldBox, graceMs = HOUR_MS): Promise<unknown> {
  return database.org(orgId, (db) => rotateSecret(db, id, uuidv7(), sealSecret(box, id, secret), graceMs));
}

interface Row {
  readonly subscription_id: string;
  readonly secret: Buffer;
  readonly previous_secret: Buffer | null;
  readonly headers: Buffer | null;
  readonly revision: number;
}

const rows = (): Promise<Row[]> =>
  database.system((db) =>
    db.query<Row>(
      "select subscription_id, secret, previous_secret, headers, revision from webhook_subscriptions order by subscription_id",
    ),
  );

async function rowOf(id: string): Promise<Row> {
  const row = (await rows()).find((each) => each.subscription_id === id);
  if (!row) throw new Error(`no subscription ${id}`);
  return row;
}

const sealedOf = ({ secret, previous_secret, headers }: Row): Buffer[] =>
  [secret, previous_secret, headers].filter((each) => each !== null);

describe("resealing stored secrets", () => {
  it("moves secrets, previous secrets and headers to the new key, also of disabled webhooks", async () => {
    const id = await subscribe();
    await rotate(id, "rotated");
    const disabled = await subscribe();
    await database.org(orgId, (db) => disableSubscription(db, disabled, "manual", { event_id: uuidv7(), detail: {} }));
    const before = await rowOf(id);
    expect(await resealSecrets(database, bothBox)).toEqual({ resealed: 5, current: 5, unreadable: [] });

    const row = await rowOf(id);
    expect(openSecret(newBox, id, row.secret)).toBe("rotated");
    expect(openSecret(newBox, id, row.previous_secret ?? Buffer.alloc(0))).toBe(`secret of ${id}`);
    expect(openHeaders(newBox, id, row.headers)).toEqual({ "x-of": id });
    expect(row.revision).toBe(before.revision);
    expect(openSecret(newBox, disabled, (await rowOf(disabled)).secret)).toBe(`secret of ${disabled}`);
    for (const each of await rows())
      for (const sealed of sealedOf(each))
        expect(() => openSecret(oldBox, each.subscription_id, sealed)).toThrow(SealBroken);
  });

  it("writes nothing the second time", async () => {
    await subscribe();
    await subscribe(newBox);
    expect(await resealSecrets(database, bothBox)).toEqual({ resealed: 2, current: 4, unreadable: [] });
    const before = await rows();
    expect(await resealSecrets(database, bothBox)).toEqual({ resealed: 0, current: 4, unreadable: [] });
    expect(await rows()).toEqual(before);
  });

  it("handles any number of webhooks", async () => {
    for (let n = 0; n < 200; n++) await subscribe();
    expect(await resealSecrets(database, bothBox)).toMatchObject({ resealed: 400, current: 400 });
    for (const { subscription_id: id, secret } of await rows())
      expect(openSecret(newBox, id, secret)).toBe(`secret of ${id}`);
  });

  it("names secrets that it cannot open, leaves them unchanged and reseals the rest", async () => {
    const strange = createSecretBox([randomBytes(32)]);
    const [lost, half, good] = [await subscribe(strange), await subscribe(), await subscribe()];
    // Copied here from another webhook, so they cannot be decrypted.
    const { headers: foreign } = await rowOf(good);
    await database.system((db) =>
      db.query("update webhook_subscriptions set headers = $2::bytea where subscription_id = $1::uuid", [
        half,
        foreign,
      ]),
    );
    const before = await rowOf(lost);
    const report = await resealSecrets(database, bothBox);
    expect(report).toMatchObject({ resealed: 3, current: 3 });
    expect(report.unreadable.map(({ id: of, column }) => `${of} ${column}`)).toEqual([
      `${lost} secret`,
      `${lost} headers`,
      `${half} headers`,
    ]);
    expect(await rowOf(lost)).toEqual(before);
    const row = await rowOf(half);
    expect(openSecret(newBox, half, row.secret)).toBe(`secret of ${half}`);
    expect(row.headers).toEqual(foreign);
  });

  it("moves the secret of a webhook evaluator to the new key", async () => {
    const id = uuidv7();
    const context = secretContext("evaluators", id, "secret");
    const evaluator = { evaluator_id: id, org_id: orgId, name: "hook", description: "", template_id: null };
    await database.org(orgId, (db) =>
      insertEvaluator(db, { ...evaluator, definition: {} as never, secret: oldBox.seal("whsec_x", context) }),
    );
    expect(await resealSecrets(database, bothBox)).toEqual({ resealed: 1, current: 1, unreadable: [] });
    const row = await database.org(orgId, (db) => findEvaluator(db, id));
    expect(newBox.open(row?.secret ?? Buffer.alloc(0), context)).toBe("whsec_x");
    await database.system((db) => db.query("update evaluators set secret = null where evaluator_id = $1::uuid", [id]));
  });

  it("removes expired previous secrets, readable or not", async () => {
    const id = await subscribe(createSecretBox([randomBytes(32)]));
    await rotate(id, "rotated", newBox, 0);
    await database.org(orgId, (db) =>
      db.query("update webhook_subscriptions set headers = null where subscription_id = $1::uuid", [id]),
    );
    expect(await resealSecrets(database, bothBox)).toEqual({ resealed: 0, current: 1, unreadable: [] });
    const row = await rowOf(id);
    expect(row.previous_secret).toBeNull();
    expect(openSecret(newBox, id, row.secret)).toBe("rotated");
  });

  it("skips deleted webhooks, which keep no secrets", async () => {
    const id = await subscribe();
    await database.orgTransaction(orgId, (db) => deleteSubscription(db, id));
    expect(sealedOf(await rowOf(id)).map((sealed) => sealed.length)).toEqual([0]);
    expect(await resealSecrets(database, bothBox)).toEqual({ resealed: 0, current: 0, unreadable: [] });
  });

  it("loses no rotation that is in progress", async () => {
    const id = await subscribe();
    const resealing = await database.orgTransaction(orgId, async (db) => {
      await rotateSecret(db, id, uuidv7(), sealSecret(bothBox, id, "rotated"), HOUR_MS);
      const started = resealSecrets(database, bothBox);
      await eventually("it waits for the rotation", async () => {
        const waiting = await database.system((connection) =>
          connection.query(
            "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
          ),
        );
        return waiting.length > 0;
      });
      return { started };
    });
    expect(await resealing.started).toEqual({ resealed: 2, current: 3, unreadable: [] });
    const row = await rowOf(id);
    expect(openSecret(newBox, id, row.secret)).toBe("rotated");
    expect(openSecret(newBox, id, row.previous_secret ?? Buffer.alloc(0))).toBe(`secret of ${id}`);
  });

  it("can run several times concurrently, beside rotations", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 30; n++) ids.push(await subscribe());
    const rotating = ids.map((id) => rotate(id, `rotated ${id}`, bothBox));
    await Promise.all([resealSecrets(database, bothBox), resealSecrets(database, bothBox), ...rotating]);
    expect(await resealSecrets(database, bothBox)).toEqual({ resealed: 0, current: 90, unreadable: [] });
    for (const row of await rows()) {
      const id = row.subscription_id;
      expect(openSecret(newBox, id, row.secret)).toBe(`rotated ${id}`);
      expect(openSecret(newBox, id, row.previous_secret ?? Buffer.alloc(0))).toBe(`secret of ${id}`);
    }
  });
});
