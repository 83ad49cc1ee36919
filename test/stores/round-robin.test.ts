import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { takeDueFirings } from "../../src/stores/triggers/firings.ts";
import { endRunJob, insertRunJob } from "../../src/stores/runs/run-jobs.ts";
import { takeRunsToCheck } from "../../src/stores/runs/runs.ts";
import { pendingDocuments } from "../../src/stores/documents/documents.ts";
import { takeStarts, wantLost, wantStarts } from "../../src/stores/starts/workflow-starts.ts";
import { insertEvent } from "../../src/stores/outbox.ts";
import { takeUnrelayed } from "../../src/stores/webhooks/outbox.ts";
import { buildRun, buildTenant, ownDatabase, type Tenant } from "./rows.ts";

// Every loop over all organisations: one with a long queue must not delay others.

const own = ownDatabase();
const MANY = 12;

/** An organisation with a backlog, and one that came last with a single item. */
async function neighbours(add: (tenant: Tenant, at: number) => Promise<unknown>): Promise<{ quiet: string }> {
  const [noisy, quiet] = [await buildTenant(own.database), await buildTenant(own.database)];
  for (let at = 0; at < MANY; at += 1) await add(noisy, at);
  await add(quiet, MANY);
  return { quiet: quiet.org_id };
}

const orgs = (rows: ReadonlyArray<{ readonly org_id: string }>): string[] => rows.map(({ org_id }) => org_id);
const firstFew = { limit: 4 };

it("noisy-neighbour: firings are taken round robin by organisation, a few at a time", async () => {
  const { quiet } = await neighbours(async ({ org_id }, at) => {
    await own.database.system((db) =>
      db.query(
        "insert into trigger_firings (run_id, org_id, key, depth, payload, due_at) values ($1::uuid, $2::uuid, $3, 0, '{}', now())",
        [uuidv7(), org_id, `key-${at}`],
      ),
    );
  });
  const taken = orgs(await own.database.system((db) => takeDueFirings(db, 50)));
  expect(taken).toContain(quiet);
  expect(taken).toHaveLength(4);
});

it("noisy-neighbour: runs are checked round robin by organisation", async () => {
  const { quiet } = await neighbours(async (tenant, at) => {
    const run_id = await buildRun(own.database, tenant);
    await own.database.system((db) =>
      db.query("update runs set check_at = now() - make_interval(secs => $2::float8) where run_id = $1::uuid", [
        run_id,
        1000 - at,
      ]),
    );
  });
  expect(orgs(await own.database.system((db) => takeRunsToCheck(db, firstFew.limit, 60_000)))).toContain(quiet);
});

it("noisy-neighbour: events are relayed round robin by organisation, each one's in order", async () => {
  const { quiet } = await neighbours(({ org_id }) =>
    own.database.org(org_id, (db) =>
      insertEvent(db, { event_id: uuidv7(), org_id, type: "skill.version.created", project_id: null, data: {} }),
    ),
  );
  const take = (limit: number) => own.database.system((db) => takeUnrelayed(db, limit));
  const first = await take(firstFew.limit);
  expect(orgs(first)).toContain(quiet);
  expect(first).toHaveLength(firstFew.limit);
  const rest = await take(100);
  expect(rest).toHaveLength(MANY + 1 - firstFew.limit);
  const places = [...first, ...rest].filter(({ org_id }) => org_id !== quiet).map(({ seq }) => Number(seq));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

it("noisy-neighbour: abandoned documents are retried round robin by organisation", async () => {
  const { quiet } = await neighbours(({ org_id, project_id }) =>
    own.database.system((db) =>
      db.query(
        `insert into documents (file_id, org_id, project_id, node_id, user_id, filename, mime_type, size, content_hash, blob_key, status, created_at)
         values ($1::uuid, $2::uuid, $3::uuid, 'doc-0', 'u', 'f', 'text/plain', 1, 'h', 'k', 'pending', now() - interval '1 hour')`,
        [uuidv7(), org_id, project_id],
      ),
    ),
  );
  const pending = await own.database.system((db) => pendingDocuments(db, 1000, firstFew.limit));
  expect(orgs(pending)).toContain(quiet);
});

it("noisy-neighbour: wanted workflows are started round robin by organisation", async () => {
  const { quiet } = await neighbours(({ org_id }) =>
    own.database.org(org_id, (db) => wantStarts(db, "run_job", [{ org_id, job_id: uuidv7() }])),
  );
  const taken = await own.database.system((db) => takeStarts(db, firstFew.limit));
  expect(orgs(taken.map(({ input }) => input))).toContain(quiet);
  expect(taken).toHaveLength(firstFew.limit);
  await own.database.system((db) => db.query("delete from workflow_starts"));
});

it("noisy-neighbour: abandoned jobs are taken round robin by organisation, each once per interval", async () => {
  const start = async ({ org_id }: Tenant): Promise<string> => {
    const job = { job_id: uuidv7(), org_id, action: "cancel", filter: {}, version: null } as const;
    const by = { created_by_type: "user", created_by_id: uuidv7() } as const;
    await own.database.org(org_id, (db) => insertRunJob(db, { ...job, ...by }));
    return job.job_id;
  };
  const { quiet } = await neighbours(start);
  await own.database.system((db) => db.query("update run_jobs set checked_at = now() - interval '1 minute'"));
  const tenant = await buildTenant(own.database);
  const fresh = await start(tenant);
  const take = (limit: number) =>
    own.database.systemTransaction(async (db) => {
      await wantLost(db, "run_job", 30_000, limit);
      return db.query<{ org_id: string; job_id: string }>(
        "delete from workflow_starts returning org_id, input->>'job_id' as job_id",
      );
    });
  const first = await take(firstFew.limit);
  expect(orgs(first)).toContain(quiet);
  const [ended, ...rest] = await take(2);
  if (ended === undefined) throw new Error("there is none left");
  await own.database.org(ended.org_id, (db) => endRunJob(db, ended.job_id, "COMPLETED", null));
  const all = [...first, ended, ...rest, ...(await take(100))].map(({ job_id }) => job_id);
  expect([all.length, new Set(all).size, all.includes(fresh)]).toEqual([MANY + 1, MANY + 1, false]);
  await own.database.system((db) => db.query("update run_jobs set checked_at = now() - interval '1 minute'"));
  const again = (await take(100)).map(({ job_id }) => job_id);
  expect([again.length, again.includes(fresh), again.includes(ended.job_id)]).toEqual([MANY + 1, true, false]);
});
