import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/http/operation.ts";
import { openDatabase, type Database } from "../../src/stores/db.ts";
import { operations } from "../api/http/conformance.ts";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import type { TestClient } from "../support/client.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { call, holdings } from "./call-operation.ts";
import { idFor, idsOf, isOwned, makeEverything, type Ids } from "./foreign-ids.ts";

let victim: ApiTenant;
let stranger: ApiTenant;
let callers: Record<string, TestClient>;
/** IDs of the victim. */
let theirs: Ids;
let receiver: HttpTarget;
/** The victim's data after the previous operation. */
let held: Awaited<ReturnType<typeof holdings>> | undefined;
let database: Database;

beforeAll(async () => {
  receiver = await startHttpTarget();
  victim = await openTenant();
  const { databaseUrl: url } = victim.target;
  database = openDatabase({ url, poolSize: 1, applicationName: "test", onError: () => undefined });
  stranger = await openTenant();
  theirs = await makeEverything(victim, receiver.url);
  callers = { secret: stranger.secret, admin: await stranger.user("admin"), public: stranger.public };
});
afterAll(() => Promise.all([receiver?.close(), database?.close()]));

const guarded = operations.filter((operation) => operation.auth !== "none");
const withIds = guarded.filter((operation) => idsOf(operation).some(({ name }) => isOwned(operation, name)));

/** A new unknown ID for each of the victim's IDs. */
const unknown = (ids: Ids): Ids => Object.fromEntries(Object.keys(ids).map((name) => [name, randomUUID()]));

describe("cross-tenant: another organisation's IDs, in every operation of the API", () => {
  it("knows a foreign ID for every ID parameter (a new operation needs a line in test/security/foreign-ids.ts)", () => {
    const missing = guarded.flatMap((operation) =>
      idsOf(operation)
        .filter(({ name }) => idFor(theirs, operation, name) === undefined)
        .map(({ name }) => `${operation.id}.${name}`),
    );
    expect(missing).toEqual([]);
    expect(withIds.length).toBeGreaterThan(20);
  });

  it.each(withIds.map((operation) => [operation.id, operation] as const))(
    "%s responds byte for byte as for IDs that do not exist, and changes nothing",
    async (_, operation) => {
      const before = held ?? (await holdings(database, victim.org_id));
      const nothing: Ids = { ...theirs, ...unknown(theirs) };
      const plain = Object.fromEntries(Object.entries(theirs).filter(([name]) => !isOwnedName(operation, name)));
      const mine = { org: stranger.org_id, org_id: stranger.org_id };
      for (const [caller, api] of Object.entries(callers)) {
        if (caller === "public" && operation.auth !== "public") continue;
        const expected = await call(api, operation, { ...nothing, ...plain, ...mine });
        // Once with the victim's organisation, and once with the stranger's own if the operation has one.
        for (const ids of [theirs, { ...theirs, ...mine }]) {
          const answer = await call(api, operation, ids);
          expect([answer.status, answer.text], caller).toEqual([expected.status, expected.text]);
        }
        // A filtered list is empty; any other operation returns 404.
        if (expected.status === 200)
          expect(JSON.parse(expected.text)).toEqual({ data: [], cursor: null, has_more: false });
        else expect([expected.status, JSON.parse(expected.text).code], expected.text).toEqual([404, "not_found"]);
      }
      held = await holdings(database, victim.org_id);
      expect(held).toEqual(before);
    },
  );

  it("an Idempotency-Key of another organisation does not replay its response", async () => {
    const options = { headers: { "idempotency-key": randomUUID() } };
    const first = await victim.secret.post("/v2/projects", { name: "kept" }, options);
    const second = await stranger.secret.post("/v2/projects", { name: "kept" }, options);
    expect([first.status, second.status, second.headers.get("idempotent-replayed")]).toEqual([201, 201, null]);
    expect(second.body.project_id).not.toBe(first.body.project_id);
  });

  it("a cursor of another organisation is rejected, and lists contain only items of the caller's organisation", async () => {
    // IDs that are not UUIDs are names, which any organisation may use.
    const owned = Object.values(theirs).filter((id) => /^[0-9a-f-]{36}$/.test(id));
    for (const operation of guarded.filter((each) => each.path.startsWith("/v2/") && each.query?.shape["cursor"])) {
      if (operation.path.includes("{")) continue;
      const page = await victim.secret.get(operation.path, { query: { page_size: 1 } });
      expect(page.status).toBe(200);
      const own = await stranger.secret.get(operation.path, { query: { page_size: 200 } });
      for (const id of owned) expect(JSON.stringify(own.body.data)).not.toContain(`"${id}"`);
      if (page.body.cursor === null) continue;
      const answer = await stranger.secret.get(operation.path, { query: { cursor: page.body.cursor } });
      const shown = answer.status === 200 ? JSON.stringify(answer.body.data) : "";
      for (const id of owned) expect(shown).not.toContain(`"${id}"`);
    }
  });

  it("every ID is found for its owner, so the requests above fail only because of the organisation", async () => {
    // Operations that delete come last.
    const inOrder = [...withIds].sort((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"));
    const notFound: string[] = [];
    for (const operation of inOrder) {
      const { status, text } = await call(victim.secret, operation, theirs);
      if (status === 404 || status >= 500 || text.includes('"data":[]'))
        notFound.push(`${operation.id}: ${status} ${text}`);
    }
    expect(notFound).toEqual([]);
  });
});

/** Whether an ID entry, `name` or `operationId.name`, is a name that belongs to an organisation in this operation. */
function isOwnedName(operation: Operation, entry: string): boolean {
  const [id, name] = entry.includes(".") ? entry.split(".") : [operation.id, entry];
  return id !== operation.id || isOwned(operation, name ?? "");
}
