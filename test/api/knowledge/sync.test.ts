import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { syncScheduleId } from "../../../src/temporal/ids.ts";
import type { Answer } from "../../support/client.ts";
import { withTemporal } from "../../support/histories.ts";
import { startHttpTarget } from "../../support/http-target.ts";
import { startWebsite, type Website } from "../../support/website.ts";
import { openTenant, problemText, type ApiTenant } from "../tenant.ts";
import { KEYWORDS, PATH, create } from "./bases.ts";
import { settled, upload } from "./knowledge-bases.ts";
import { counts, ended as endedSync, resources as resourcesOf, run } from "./syncs.ts";

let tenant: ApiTenant;
let other: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
  other = await openTenant();
});

type Body = Answer["body"];

const sync = (path: string, body: Record<string, unknown> = {}): Promise<Body> => run(tenant, path, body);
const ended = (path: string, syncId: string): Promise<Body> => endedSync(tenant, path, syncId);

/** The first line of the best result; undefined without results. */
async function search(path: string, query: string): Promise<string | undefined> {
  const { body } = await tenant.secret.post(`${path}/query`, { query });
  return body.results[0]?.text;
}

const resources = (path: string): Promise<Body[]> => resourcesOf(tenant, path);

async function eventsOf(id: string): Promise<string[]> {
  return tenant.withDatabase((database) =>
    database.system(async (db) => {
      const rows = await db.query<{ type: string }>(
        "select type from outbox where data->>'sync_id' = $1 or data->>'resource_id' = $1 order by seq",
        [id],
      );
      return rows.map(({ type }) => type);
    }),
  );
}

describe("a sync with a site", () => {
  let site: Website;
  let path: string;
  beforeAll(async () => {
    site = await startWebsite({
      "/": "Weirs hold water.",
      "/locks": "Locks lift boats.",
      "/mills": "Mills grind corn.",
    });
    const website_sources = [{ source_type: "sitemap", original_search_term: `${site.url}/` }];
    ({ path } = await create(tenant, { website_sources }));
  });
  afterAll(() => site.close());

  it("indexes the pages of its sitemaps, and reports what it could not read", async () => {
    site.pages.set("/private/wages", "Nobody reads this.");
    site.others.push("/broken", "/inward", "/picture");
    site.override = ({ path: at }) => {
      if (at === "/broken") return { status: 500 };
      // These tests allow loopback, but no other private network.
      if (at === "/inward") return { status: 302, headers: { location: "http://169.254.169.254/latest/meta-data/" } };
      if (at === "/picture")
        return { status: 200, headers: { "content-type": "application/octet-stream" }, body: "MZ\u0090\u0000" };
      return null;
    };
    const done = await sync(path);
    expect(done).toMatchObject({
      mode: "incremental",
      state: "completed",
      total: 7,
      counts: counts({ added: 3, failed: 4 }),
      error: null,
    });
    const codes = Object.fromEntries(done.errors.map((each: Body) => [new URL(each.address).pathname, each.code]));
    expect(codes).toEqual({
      "/private/wages": "robots_forbidden",
      "/broken": "http_status",
      "/inward": "http_refused",
      "/picture": "unsupported_type",
    });
    expect(site.served("/private/wages")).toEqual({ whole: 0, unchanged: 0 });
    expect(await search(path, "boats")).toContain("Locks lift boats.");
    expect(await search(path, "nobody")).toBeUndefined();
    const base = (await tenant.secret.get(path)).body;
    expect(base).toMatchObject({
      total_files: 3,
      total_indexed_files: 3,
      sync: { status: "completed", last_sync_id: done.sync_id },
    });
    expect(base.last_synced_at).not.toBeNull();
    expect(await eventsOf(done.sync_id)).toEqual(["knowledge_base.sync.completed"]);
    const told = await tenant.withDatabase((database) =>
      database.system((db) => db.query("select data from outbox where data->>'sync_id' = $1", [done.sync_id])),
    );
    // The event contains counts only, nothing else from the row.
    expect(told[0]?.["data"]).toEqual({
      knowledge_base_id: done.knowledge_base_id,
      sync_id: done.sync_id,
      mode: "incremental",
      state: "completed",
      counts: counts({ added: 3, failed: 4 }),
      error: null,
    });
    for (const { resource_id } of await resources(path)) {
      expect(await eventsOf(resource_id)).toEqual(["knowledge_base.resource.indexed"]);
    }
    const { data } = (await tenant.secret.get(`${path}/syncs/${done.sync_id}/items`, { query: { outcome: "failed" } }))
      .body;
    expect(data.length).toBe(4);
    site.others.length = 0;
    site.override = null;
    site.pages.delete("/private/wages");
  });

  it("downloads only pages that have changed", async () => {
    const before = site.served("/locks");
    const whole = before.whole;
    expect((await sync(path)).counts).toEqual(counts({ unchanged: 3 }));
    expect(site.served("/locks")).toMatchObject({ whole, unchanged: before.unchanged });
    expect(site.served("/locks").unchanged).toBeGreaterThan(0);
  });

  it("reports in a dry run what it would do, and changes nothing", async () => {
    site.pages.set("/mills", `Mills saw wood. ${"They also grind corn, as they always did. ".repeat(6)}`);
    site.pages.set("/new", "Sluices let water pass.");
    site.pages.delete("/locks");
    const done = await sync(path, { mode: "dry_run" });
    expect(done).toMatchObject({
      state: "completed",
      counts: counts({ added: 1, updated: 1, deleted: 1, unchanged: 1 }),
    });
    const { data } = (await tenant.secret.get(`${path}/syncs/${done.sync_id}/items`, { query: { order: "asc" } })).body;
    expect(Object.fromEntries(data.map((each: Body) => [new URL(each.address).pathname, each.outcome]))).toEqual({
      "/": "unchanged",
      "/mills": "updated",
      "/new": "added",
      "/locks": "deleted",
    });
    expect(await search(path, "saw")).toBeUndefined();
    expect(await search(path, "boats")).toContain("Locks lift boats.");
  });

  it("keeps missing pages if configured, and deletes none while the sitemap is unreadable", async () => {
    expect((await sync(path, { delete_missing: false })).counts).toEqual(
      counts({ added: 1, updated: 1, unchanged: 1 }),
    );
    expect(await search(path, "boats")).toContain("Locks lift boats.");
    expect(await search(path, "saw")).toContain("Mills saw wood.");
    site.override = ({ path: at }) => (at.endsWith(".gz") ? { status: 503 } : null);
    const failed = await sync(path);
    expect(failed).toMatchObject({
      state: "failed",
      counts: counts({ failed: 1 }),
      error: { code: "source_unavailable" },
    });
    expect(await eventsOf(failed.sync_id)).toEqual(["knowledge_base.sync.failed"]);
    expect((await resources(path)).length).toBe(4);
    site.override = null;
  });

  it("deletes pages that the site no longer lists or has, but no uploads and texts", async () => {
    const text = await tenant.secret.post(`${path}/resources`, { name: "note.txt", text: "Ours to keep." });
    await settled(tenant, path.split("/").at(-1) ?? "", text.body.resource_id);
    site.others.push("/new");
    site.pages.delete("/new");
    expect((await sync(path)).counts).toEqual(counts({ deleted: 2, unchanged: 2 }));
    expect(await search(path, "boats")).toBeUndefined();
    expect(await search(path, "sluices")).toBeUndefined();
    expect(await search(path, "keep")).toContain("Ours to keep.");
    site.others.length = 0;
  });

  it("reports that a sitemap exceeds its limit, and deletes no page that may be in the rest", async () => {
    const long = await startWebsite({ "/late-first": "Early.", "/late": "Nobody forgets marigolds." });
    const source = { source_type: "sitemap", original_search_term: long.url, selected_resources: [`${long.url}/late`] };
    const base = await create(tenant, { website_sources: [source] });
    expect((await sync(base.path)).counts).toEqual(counts({ added: 2 }));
    long.pages.delete("/late");
    for (let n = 0; n < 50_000; n += 1) long.pages.set(`/other-${n}`, "");
    long.pages.set("/late", "Nobody forgets marigolds.");
    expect(await sync(base.path)).toMatchObject({
      state: "completed",
      counts: counts({ unchanged: 1, failed: 1 }),
      errors: [{ code: "too_many_addresses" }],
    });
    expect(await search(base.path, "marigolds")).toContain("Nobody forgets marigolds.");
    await long.close();
  });

  it("reindexes everything with new settings, and stays searchable meanwhile", async () => {
    const whole = site.served("/mills").whole;
    const changed = await tenant.secret.patch(path, {
      indexing_params: { chunker_params: { chunk_size: 90, chunk_overlap: 10 } },
    });
    expect(changed.body.reindex_required).toBe(true);
    const accepted = await tenant.secret.post(`${path}/sync`, { mode: "full" });
    let isOver = false;
    const end = ended(path, accepted.body.sync_id).finally(() => (isOver = true));
    let missed = 0;
    while (!isOver) if (!(await search(path, "saw"))?.includes("Mills saw wood.")) missed += 1;
    expect(missed).toBe(0);
    expect(await end).toMatchObject({ state: "completed", counts: counts({ updated: 3 }) });
    expect(site.served("/mills").whole).toBe(whole + 1);
    expect(await search(path, "saw")).toContain("Mills saw wood.");
    expect(await search(path, "keep")).toContain("Ours to keep.");
    expect((await tenant.secret.get(path)).body).toMatchObject({ reindex_required: false, total_indexed_files: 3 });
    // The document has as many chunks as the new index.
    const mills = (await resources(path)).find((each) => each.source_url === site.address("/mills"));
    const last = await tenant.withDatabase((database) =>
      database.system((db) =>
        db.query(
          "select x.chunk_count from knowledge_index_resources x join knowledge_indexes i using (index_no) where x.resource_id = $1 and i.state = 'active'",
          [mills.resource_id],
        ),
      ),
    );
    expect(mills.chunk_count).toBe(last[0]?.["chunk_count"]);
    expect(mills.chunk_count).toBeGreaterThan(1);
  });

  it("runs once at a time, and can be cancelled", async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    site.target.onEvery(async (_, response) => {
      await held;
      response.writeHead(503).end();
    });
    const { body } = await tenant.secret.post(`${path}/sync`, {});
    const second = await tenant.secret.post(`${path}/sync`, {});
    expect([second.status, second.body.code, second.body.sync_id]).toEqual([409, "sync_in_progress", body.sync_id]);
    const one = `${path}/syncs/${body.sync_id}`;
    const cancel = await tenant.secret.post(`${one}/cancel`);
    expect([cancel.status, cancel.body.cancel_requested]).toEqual([202, true]);
    expect(await ended(path, body.sync_id)).toMatchObject({ state: "cancelled" });
    expect((await tenant.secret.post(`${one}/cancel`)).status).toBe(200);
    release();
    const { data } = (await tenant.secret.get(`${path}/syncs`, { query: { page_size: 1 } })).body;
    expect(data).toMatchObject([{ sync_id: body.sync_id, state: "cancelled" }]);
    const completed = (await tenant.secret.get(`${path}/syncs`, { query: { state: "completed" } })).body.data;
    const late = await tenant.secret.post(`${path}/syncs/${completed[0].sync_id}/cancel`);
    expect([late.status, late.body.code]).toEqual([409, "sync_already_finished"]);
  });
});

describe("a sync", () => {
  it("reads chosen pages, and retries documents that could not be indexed", async () => {
    const site = await startWebsite({ "/a": "Punts are flat.", "/b": "Barges are long.", "/c": "Skiffs are light." });
    const selected_resources = [site.address("/a"), site.address("/b")];
    const { path } = await create(tenant, { website_sources: [{ source_type: "manual", selected_resources }] });
    site.override = ({ path: at }) => (at === "/c" || at === "/b" ? { status: 404 } : null);
    const added = await tenant.secret.post(`${path}/resources`, { url: site.address("/c") });
    expect(await settled(tenant, path.split("/").at(-1) ?? "", added.body.resource_id)).toMatchObject({
      status: "error",
    });
    expect((await sync(path)).counts).toEqual(counts({ added: 1, failed: 2 }));
    site.override = null;
    expect((await sync(path)).counts).toEqual(counts({ added: 1, updated: 1, unchanged: 1 }));
    expect(await search(path, "light")).toContain("Skiffs are light.");
    // A URL that a person added individually is never missing from the sources.
    await tenant.secret.patch(path, { website_sources: [] });
    expect((await sync(path)).counts).toEqual(counts({ deleted: 2, unchanged: 1 }));
    await site.close();
  });

  it("checks robots.txt for the target page of a redirect too", async () => {
    const site = await startWebsite({ "/a": "Punts are flat.", "/private/wages": "Nobody reads this." });
    const selected_resources = [site.address("/a"), site.address("/moved"), site.address("/within")];
    const { path } = await create(tenant, { website_sources: [{ source_type: "manual", selected_resources }] });
    site.override = ({ path: at }) => {
      if (at === "/moved") return { status: 302, headers: { location: "/private/wages" } };
      return at === "/within" ? { status: 302, headers: { location: "/a" } } : null;
    };
    const done = await sync(path);
    expect(done).toMatchObject({
      counts: counts({ added: 2, failed: 1 }),
      errors: [{ address: site.address("/moved"), code: "robots_forbidden" }],
    });
    expect(await search(path, "nobody")).toBeUndefined();
    await site.close();
  });

  it("checks robots.txt before each step of a redirect, for sitemaps too", async () => {
    const site = await startWebsite({ "/a": "Punts are flat." });
    const asked: string[] = [];
    site.override = ({ path: at }) => {
      asked.push(at);
      const to = { "/hops": "/private/step", "/private/step": "/a", "/sitemap.xml": "/private/sitemap.xml" }[at];
      return to === undefined ? null : { status: 302, headers: { location: to } };
    };
    const hops = { source_type: "manual", selected_resources: [site.address("/hops")] };
    const { path } = await create(tenant, { website_sources: [hops] });
    expect(await sync(path)).toMatchObject({
      counts: counts({ failed: 1 }),
      errors: [{ address: site.address("/hops"), code: "robots_forbidden" }],
    });
    const sitemap = { source_type: "sitemap", original_search_term: site.address("/sitemap.xml") };
    await tenant.secret.patch(path, { website_sources: [sitemap] });
    const mapped = await sync(path);
    expect(mapped.errors.map((each: Body) => each.code)).toContain("robots_forbidden");
    expect(asked).toContain("/sitemap.xml");
    expect(asked.filter((at) => at.startsWith("/private/"))).toEqual([]);
    await site.close();
  });

  it("sends If-Modified-Since if a page has only a date, and reads a changed page", async () => {
    const site = await startWebsite({});
    const { path } = await create(tenant, {
      website_sources: [{ source_type: "manual", selected_resources: [site.address("/dated")] }],
    });
    let [modified, text] = ["Wed, 01 Jan 2025 10:00:00 GMT", "Punts are flat."];
    const answers: number[] = [];
    site.override = ({ path: at, headers }) => {
      if (at !== "/dated") return null;
      const status = headers["if-modified-since"] === modified ? 304 : 200;
      answers.push(status);
      const sent = { "last-modified": modified, "content-type": "text/plain" };
      return { status, headers: sent, body: status === 304 ? "" : text };
    };
    expect((await sync(path)).counts).toEqual(counts({ added: 1 }));
    expect((await sync(path)).counts).toEqual(counts({ unchanged: 1 }));
    expect(answers).toEqual([200, 304]);
    [modified, text] = ["Thu, 02 Jan 2025 10:00:00 GMT", "Barges are long."];
    expect((await sync(path)).counts).toEqual(counts({ updated: 1 }));
    expect(answers).toEqual([200, 304, 200]);
    expect(await search(path, "barges")).toContain("Barges are long.");
    await site.close();
  });

  it("stops when its knowledge base is deleted", async () => {
    const target = await startHttpTarget();
    const release = target.hold("/robots.txt");
    const website_sources = [{ source_type: "sitemap", original_search_term: target.url }];
    const { path } = await create(tenant, { website_sources });
    const { body } = await tenant.secret.post(`${path}/sync`, {});
    expect((await tenant.secret.delete(path)).status).toBe(204);
    expect((await tenant.secret.get(`${path}/syncs/${body.sync_id}`)).status).toBe(404);
    await expect
      .poll(() =>
        tenant.withDatabase((database) =>
          database.system(async (db) => {
            const rows = await db.query("select state from knowledge_syncs where sync_id = $1", [body.sync_id]);
            return rows[0]?.["state"] ?? "gone";
          }),
        ),
      )
      .toMatch(/cancelled|gone/);
    release();
    await target.close();
  });

  it("starts once per Idempotency-Key", async () => {
    const { path } = await create(tenant);
    const headers = { "idempotency-key": `sync-${uuidv7()}` };
    const first = await tenant.secret.post(`${path}/sync`, {}, { headers });
    const again = await tenant.secret.post(`${path}/sync`, {}, { headers });
    expect(again.body).toEqual(first.body);
    expect(await ended(path, first.body.sync_id)).toMatchObject({ state: "completed", total: 0 });
    expect((await tenant.secret.get(`${path}/syncs`)).body.data.length).toBe(1);
  });

  it("reindexes uploads in a full sync", async () => {
    const { path } = await create(tenant);
    const { body } = await tenant.secret.post(`${path}/resources`, upload("a.md", "# Fords\n\nFords are shallow."));
    const id = path.split("/").at(-1) ?? "";
    await settled(tenant, id, body.resource_id);
    expect((await sync(path)).counts).toEqual(counts({}));
    expect((await sync(path, { mode: "full" })).counts).toEqual(counts({ updated: 1 }));
    expect(await search(path, "shallow")).toContain("Fords are shallow.");
  });

  it.each([
    [{ mode: "some" }, ["body", "mode"]],
    [{ delete_missing: "no" }, ["body", "delete_missing"]],
    [{ surprise: 1 }, ["body"]],
  ])("rejects %j", async (body, loc) => {
    const { path } = await create(tenant);
    const answer = await tenant.secret.post(`${path}/sync`, body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0].loc.slice(0, loc.length)).toEqual(loc);
  });

  it("belongs to one organisation, and is not accessible to public keys", async () => {
    const { path } = await create(tenant);
    const { sync_id } = await sync(path);
    for (const each of [`${path}/syncs`, `${path}/syncs/${sync_id}`, `${path}/syncs/${sync_id}/items`]) {
      expect((await tenant.public.get(each)).status).toBe(403);
      const theirs = await other.secret.get(each);
      expect(theirs.status).toBe(404);
      expect(problemText(theirs)).toBe(problemText(await other.secret.get(each.replace(path, `${PATH}/${uuidv7()}`))));
    }
    expect((await other.secret.post(`${path}/sync`, {})).status).toBe(404);
    expect((await other.secret.post(`${path}/syncs/${sync_id}/cancel`)).status).toBe(404);
    expect((await (await tenant.user("viewer")).post(`${path}/sync`, {})).status).toBe(403);
    // The sync is not found under another knowledge base.
    const { path: second } = await create(tenant);
    expect((await tenant.secret.get(`${second}/syncs/${sync_id}`)).status).toBe(404);
  });
});

describe("the schedule of syncs", () => {
  /** The state of the schedule in Temporal, and what the database records about it. */
  const applied = (id: string): Promise<unknown> =>
    tenant.withDatabase((database) =>
      database.system(async (db) => {
        const rows = await db.query("select applied_cron from knowledge_bases where knowledge_base_id = $1", [id]);
        return rows.length === 0 ? "gone" : rows[0]?.["applied_cron"];
      }),
    );

  it("is kept in Temporal, restored if lost there, and deleted with the knowledge base", async () => {
    const { path, body } = await create(tenant, { sync: { schedule_cron: "0 3 * * mon" } });
    expect(body.sync).toEqual({
      schedule_cron: "0 3 * * mon",
      status: "idle",
      last_sync_id: null,
      last_error: null,
      next_times: Array.from({ length: 5 }, () => expect.stringMatching(/T03:00:00.000Z$/)),
      warnings: [],
    });
    const both = await tenant.secret.patch(path, { sync: { schedule_cron: "0 3 13 * fri" } });
    expect(both.body.sync.warnings).toEqual([expect.stringContaining("both match")]);
    await tenant.secret.patch(path, { sync: { schedule_cron: "0 3 * * mon" } });
    const id = body.knowledge_base_id;
    expect(await applied(id)).toBe("0 3 * * mon");
    // As if a process had died between changing the row and calling Temporal.
    await tenant.withDatabase((database) =>
      database.system((db) =>
        db.query("update knowledge_bases set schedule_cron = '5 4 * * *' where knowledge_base_id = $1", [id]),
      ),
    );
    await expect.poll(() => applied(id)).toBe("5 4 * * *");
    await tenant.secret.patch(path, { sync: { schedule_cron: null } });
    expect(await applied(id)).toBeNull();
    await tenant.secret.patch(path, { sync: { schedule_cron: "* * * * *" } });
    expect((await tenant.secret.delete(path)).status).toBe(204);
    expect([null, "gone"]).toContain(await applied(id));
  });

  it("starts syncs", async () => {
    const { path, body } = await create(tenant, { sync: { schedule_cron: "0 0 1 1 *" } });
    await withTemporal(tenant.target.temporalAddress, (client) =>
      client.schedule.getHandle(syncScheduleId(body.knowledge_base_id)).trigger(),
    );
    await expect
      .poll(async () => (await tenant.secret.get(`${path}/syncs`)).body.data[0])
      .toMatchObject({ trigger: "schedule", mode: "incremental", state: "completed" });
  });

  it.each(["", "* * * *", "60 * * * *", "* * * * * *", "1-0 * * * *", "@daily", "*/0 * * * *", "a b c d e"])(
    "rejects %j",
    async (schedule_cron) => {
      const answer = await tenant.secret.post(PATH, { name: "x", indexing_params: KEYWORDS, sync: { schedule_cron } });
      expect([answer.status, answer.body.detail[0].loc]).toEqual([422, ["body", "sync", "schedule_cron"]]);
    },
  );
});
