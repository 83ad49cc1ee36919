import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFileBlobStore } from "../../src/platform/blobs/blobs.ts";
import { sweepBlobs } from "../../src/services/system/sweep-blobs.ts";
import { install, type Installation } from "../kill/installation.ts";
import { recordKill } from "../kill/kill-table.ts";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { shareOf } from "../support/long.ts";
import { eventually } from "../support/scratch.ts";
import { startWebsite } from "../support/website.ts";

const PAGES = shareOf(250);

let installation: Installation;
beforeAll(async () => {
  // More pages than other tests allow.
  installation = await install({ env: { MILLRACE_SYNC_MAX_PAGES: "1000" } });
});
afterAll(() => installation?.close());

const pages = (): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: PAGES }, (_, n) => [`/page-${n}`, `Page ${n} describes mill number${n}. `.repeat(20)]),
  );

describe(`a kill during a sync of ${PAGES} documents`, () => {
  it.each(["worker", "api", "postgres"] as const)(
    "%s: the sync finishes, and every document is indexed once",
    async (what) => {
      const tenant = await openTenant(installation);
      const site = await startWebsite(pages());
      const part = what === "postgres" ? installation.postgres : installation[what][0];
      const { body: base } = await tenant.secret.post("/v2/knowledge-bases", {
        name: what,
        indexing_params: { embedding_params: { embedding_model: null } },
        website_sources: [{ source_type: "sitemap", original_search_term: site.url }],
      });
      const path = `/v2/knowledge-bases/${base.knowledge_base_id}`;
      const { body: accepted } = await tenant.secret.post(`${path}/sync`, {});
      const at = Date.now();
      // Kills at the beginning, in the middle and near the end.
      for (const done of [0, PAGES / 4, (PAGES * 3) / 4]) {
        await eventually(
          `${done} documents`,
          async () => {
            const rows = await installation.sql<{ n: number }>(
              "select count(*)::int as n from knowledge_sync_items where sync_id = $1 and outcome is not null",
              [accepted.sync_id],
            );
            return (rows[0]?.n ?? 0) >= done;
          },
          300_000,
        );
        await part?.kill();
        await delay(500);
        await part?.restart();
      }
      const sync = await eventually(
        "the sync ends",
        async () => {
          const answer = await tenant.secret.get(`${path}/syncs/${accepted.sync_id}`);
          return answer.status === 200 && /^(completed|failed|cancelled)$/.test(answer.body.state) && answer.body;
        },
        300_000,
      );
      expect(sync).toMatchObject({
        state: "completed",
        counts: { added: PAGES, updated: 0, deleted: 0, unchanged: 0, failed: 0 },
      });
      const [found] = await installation.sql<Record<string, number>>(
        `select count(*)::int as resources, count(distinct source_url)::int as addresses,
        count(*) filter (where status = 'indexed' and revision = 0)::int as once,
        (select count(*)::int from outbox where data->>'knowledge_base_id' = $1 and type = 'knowledge_base.resource.indexed') as indexed_events,
        (select count(*)::int from outbox where data->>'knowledge_base_id' = $1 and type = 'knowledge_base.sync.completed') as sync_events,
        (select count(*)::int from knowledge_index_resources x join knowledge_resources k using (resource_id) where k.knowledge_base_id = $1::uuid) as found,
        (select count(*)::int from (select c.resource_id, c.chunk_index from knowledge_chunks c join knowledge_resources k using (resource_id)
          where k.knowledge_base_id = $1::uuid group by 1, 2 having count(*) > 1) d) as repeated
      from knowledge_resources where knowledge_base_id = $1::uuid`,
        [base.knowledge_base_id],
      );
      expect(found).toEqual({
        resources: PAGES,
        addresses: PAGES,
        once: PAGES,
        indexed_events: PAGES,
        sync_events: 1,
        found: PAGES,
        repeated: 0,
      });
      // A blob whose row may not have been committed stays; housekeeping deletes it later.
      const swept = await sweep(tenant);
      const left = await unreferenced();
      recordKill({
        killed: `${what}, three times`,
        when: `a sync of ${PAGES} documents is under way`,
        runs: 1,
        outcome: `the sync completed ${((Date.now() - at) / 1000).toFixed(0)} s after it began; ${PAGES} documents indexed once; ${swept} blobs that nothing referred to were swept`,
      });
      expect(left).toBe(0);
      await site.close();
    },
  );
});

/** Runs housekeeping as if all blobs were a day old. */
async function sweep(tenant: ApiTenant): Promise<number | null> {
  const blobs = await createFileBlobStore(installation.blobDir);
  try {
    return await tenant.withDatabase((db) => sweepBlobs({ db, blobs }, new Date(Date.now() + 60_000)));
  } finally {
    blobs.close();
  }
}

/** Number of files in the blob store that no document refers to. */
async function unreferenced(): Promise<number> {
  const rows = await installation.sql<{ key: string }>(
    "select unnest(array[blob_key, text_blob_key]) as key from knowledge_resources",
  );
  const known = rows.map(({ key }) => key?.split("/").at(-1) ?? "");
  const files = readdirSync(installation.blobDir, { recursive: true, withFileTypes: true })
    // Excludes drafts, which are not blobs yet; one that a killed process left is deleted after an hour.
    .filter((entry) => entry.isFile() && basename(entry.parentPath) !== "tmp")
    .map(({ name }) => name);
  return files.filter((name) => !name.includes("master") && !known.includes(name)).length;
}
