import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/http/operation.ts";
import { operations } from "../api/http/conformance.ts";
import { openTenant } from "../api/tenant.ts";
import type { ApiTenant } from "../api/tenant.ts";
import type { TestClient } from "../support/client.ts";
import { startHttpTarget } from "../support/http-target.ts";
import type { HttpTarget } from "../support/http-target.ts";
import { call, holdings } from "./call-operation.ts";
import { idFor, idsOf, isOwned, makeEverything } from "./foreign-ids.ts";
import type { Ids } from "./foreign-ids.ts";

let victim: ApiTenant;
let stranger: ApiTenant;
let callers: Record<string, TestClient>;
/** Ids of the victim. */
let theirs: Ids;
let receiver: HttpTarget;
/** What the victim had after the operation before. */
let held: Awaited<ReturnType<typeof holdings>> | undefined;

beforeAll(async () => {
  receiver = await startHttpTarget();
  victim = await openTenant();
  stranger = await openTenant();
  theirs = await makeEverything(victim, receiver.url);
  callers = { secret: stranger.secret, admin: await stranger.user("admin"), public: stranger.public };
});
afterAll(() => receiver?.close());

const guarded = operations.filter((operation) => operation.auth !== "none");
const withIds = guarded.filter((operation) => idsOf(operation).some(({ name }) => isOwned(operation, name)));

/** Other ids that are as good as none: a new one for each of the victim's. */
const unknown = (ids: Ids): Ids => Object.fromEntries(Object.keys(ids).map((name) => [name, randomUUID()]));

describe("cross-tenant: another organisation's ids, in every operation of the document", () => {
  it("knows an id for every parameter that is one (a new operation needs a line in test/security/foreign-ids.ts)", () => {
    const missing = guarded.flatMap((operation) =>
      idsOf(operation)
        .filter(({ name }) => idFor(theirs, operation, name) === undefined)
        .map(({ name }) => `${operation.id}.${name}`),
    );
    expect(missing).toEqual([]);
    expect(withIds.length).toBeGreaterThan(20);
  });

  it.each(withIds.map((operation) => [operation.id, operation] as const))(
    "%s answers them as ids that do not exist, in the same bytes, and changes nothing",
    async (_, operation) => {
      const before = held ?? (await holdings(victim));
      const nothing: Ids = { ...theirs, ...unknown(theirs) };
      const plain = Object.fromEntries(Object.entries(theirs).filter(([name]) => !isOwnedName(operation, name)));
      const mine = { org: stranger.org_id, org_id: stranger.org_id };
      for (const [caller, api] of Object.entries(callers)) {
        if (caller === "public" && operation.auth !== "public") continue;
        const expected = await call(api, operation, { ...nothing, ...plain, ...mine });
        // With the victim's address, and with the stranger's own where the operation takes an organisation.
        for (const ids of [theirs, { ...theirs, ...mine }]) {
          const answer = await call(api, operation, ids);
          expect([answer.status, answer.text], caller).toEqual([expected.status, expected.text]);
        }
        // A filtered list is empty; any other operation answers 404.
        if (expected.status === 200)
          expect(JSON.parse(expected.text)).toEqual({ data: [], cursor: null, has_more: false });
        else expect([expected.status, JSON.parse(expected.text).code], expected.text).toEqual([404, "not_found"]);
      }
      held = await holdings(victim);
      expect(held).toEqual(before);
    },
  );

  it("an Idempotency-Key of another organisation replays nothing of its", async () => {
    const options = { headers: { "idempotency-key": randomUUID() } };
    const first = await victim.secret.post("/v2/projects", { name: "kept" }, options);
    const second = await stranger.secret.post("/v2/projects", { name: "kept" }, options);
    expect([first.status, second.status, second.headers.get("idempotent-replayed")]).toEqual([201, 201, null]);
    expect(second.body.project_id).not.toBe(first.body.project_id);
  });

  it("a cursor of another organisation is refused, and lists hold one's own only", async () => {
    // Other ids than UUIDs are names: everybody may have them.
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

  it("finds each of them for their owner: the requests above failed for no other reason", async () => {
    // What removes something comes last.
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

/** Whether an entry of the ids, `name` or `operationId.name`, belongs to an organisation in this operation. */
function isOwnedName(operation: Operation, entry: string): boolean {
  const [id, name] = entry.includes(".") ? entry.split(".") : [operation.id, entry];
  return id !== operation.id || isOwned(operation, name ?? "");
}
