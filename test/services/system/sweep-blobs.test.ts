import { uuidv7 } from "uuidv7";
import { beforeEach, describe, expect, it } from "vitest";
import { blobExists, createFileBlobStore, type BlobStore } from "../../../src/platform/blobs/blobs.ts";
import { removeUnreferenced, sweepBlobs } from "../../../src/services/system/sweep-blobs.ts";
import { isNewDatabase } from "../../../src/stores/system/blob-sweep.ts";
import { setRetention } from "../../../src/stores/system/retention.ts";
import { purgeTurns } from "../../../src/stores/models/conversations.ts";
import { purgeRuns } from "../../../src/stores/runs/run-retention.ts";
import { recordRun } from "../../../src/stores/runs/run-record.ts";
import {
  buildProject,
  buildRun,
  buildTenant,
  ownDatabase,
  pauseOpening,
  update,
  type Tenant,
} from "../../stores/rows.ts";
import { scratchDirectory } from "../../support/scratch.ts";

const own = ownDatabase();
let blobs: BlobStore;
let tenant: Tenant;
beforeEach(async () => {
  const store = await createFileBlobStore(scratchDirectory());
  store.close();
  blobs = store;
  tenant = await buildTenant(own.database);
});

const put = async ({ org_id }: Tenant = tenant) => (await blobs.put(org_id, Buffer.from("x"), { maxBytes: 1 })).key;
const sweep = (olderThan = Date.now() + 60_000) => sweepBlobs({ db: own.database, blobs }, new Date(olderThan));
const system = (sql: string, values: unknown[] = []) => own.database.system((db) => db.query(sql, values));
const end = (run: string, days = 0) =>
  system(`update runs set state = 'COMPLETED', finished_at = now() - $2::float8 * interval '1 day' where run_id = $1`, [
    run,
    days,
  ]);

/** Records a node with a long value in a blob, and a pause. */
async function recordNode(run: string, blob: string): Promise<void> {
  const node = { node_id: "http-0", type: "http", path: "http-0", state: "COMPLETED", attempts: 1 } as const;
  const value = { started_at: null, finished_at: null, long_values: { output: { $blob: blob, size: 1 } } };
  const written = update(tenant, run, { nodes: [{ ...node, ...value }], pauses_opened: [pauseOpening()] });
  await own.database.org(tenant.org_id, (db) => recordRun(db, written, []));
}

describe("the blob sweep", () => {
  it("removes unreferenced blobs and keeps the rest, for every organisation", async () => {
    const other = await buildTenant(own.database);
    const [input, output, value, file] = [await put(), await put(), await put(), await put()];
    const [none, theirs] = [await put(), await put(other)];
    const run = await buildRun(own.database, tenant, {
      inputs: { "in-0": { ref: { $blob: input, size: 1 } } },
    });
    await system(
      `insert into run_checkpoints (run_id, org_id, nodes)
       values ($1, $2, jsonb_build_object('a', jsonb_build_object('ref', jsonb_build_object('$blob', $3::text))))`,
      [run, tenant.org_id, output],
    );
    await system(
      `insert into documents (file_id, org_id, project_id, node_id, user_id, filename, mime_type, size, content_hash, blob_key)
       values (gen_random_uuid(), $1, $2, 'doc-0', 'u', 'f', 'text/plain', 1, 'h', $3)`,
      [tenant.org_id, tenant.project_id, file],
    );
    await recordNode(run, value);
    await end(run);
    expect(await sweep()).toBe(2);
    const there = await Promise.all([input, output, value, file, none, theirs].map((key) => blobExists(blobs, key)));
    expect(there).toEqual([true, true, true, true, false, false]);
    expect(await sweep()).toBe(0);
  });

  it("reads every block of a table", async () => {
    const keys = await Promise.all(Array.from({ length: 100 }, () => put()));
    await system(
      `insert into documents (file_id, org_id, project_id, node_id, user_id, filename, mime_type, size, content_hash, blob_key)
       select gen_random_uuid(), $1, $2, 'doc-0', 'u', repeat('f', 500), 'text/plain', 1, 'h', key from unnest($3::text[]) key`,
      [tenant.org_id, tenant.project_id, keys],
    );
    expect(await sweepBlobs({ db: own.database, blobs }, new Date(Date.now() + 60_000), 1)).toBe(0);
    await system("delete from documents where org_id = $1 and blob_key <> $2", [tenant.org_id, keys[0]]);
    expect(await sweepBlobs({ db: own.database, blobs }, new Date(Date.now() + 60_000), 1)).toBe(99);
  });

  it("keeps young blobs and blobs that an unfinished run may hold in its workflow", async () => {
    const key = await put();
    expect(await sweep(Date.now() - 60_000)).toBe(0);
    const run = await buildRun(own.database, tenant);
    expect(await sweep()).toBe(0);
    expect(await blobExists(blobs, key)).toBe(true);
    await end(run);
    expect(await sweep()).toBe(1);
  });

  it("holds no transaction open while it lists and removes, and continues after an interruption", async () => {
    const keys = await Promise.all([put(), put(), put()]);
    const open = async (): Promise<void> => {
      const rows = await system(
        "select 1 from pg_stat_activity where datname = current_database() and xact_start is not null and backend_type = 'client backend' and pid <> pg_backend_pid()",
      );
      expect(rows).toEqual([]);
    };
    const sweepWith = (remove: (key: string) => Promise<void>): Promise<number> => {
      const list: BlobStore["list"] = async function* (olderThan) {
        await open();
        yield* blobs.list(olderThan);
      };
      return sweepBlobs({ db: own.database, blobs: { list, delete: remove } }, new Date(Date.now() + 60_000));
    };
    const broken = sweepWith(async (key) => {
      if (key === keys[0]) throw new Error("the store is away");
      await blobs.delete(key);
    });
    await expect(broken).rejects.toThrow("the store is away");
    const removed = await sweepWith(async (key) => {
      await open();
      await blobs.delete(key);
    });
    expect(removed).toBeGreaterThan(0);
    expect(await Promise.all(keys.map((key) => blobExists(blobs, key)))).toEqual([false, false, false]);
  });

  it("spares a database of the last day, into which a backup may be restored", async () => {
    const isNew = () => own.database.system(isNewDatabase);
    expect(await isNew()).toBe(true);
    await system("update migrations set applied_at = applied_at - interval '2 days' where name like '0001%'");
    expect(await isNew()).toBe(false);
  });
});

describe("a blob that an erasure removed from an organisation's rows", () => {
  it("is deleted unless another row of the organisation refers to it, in whatever run", async () => {
    const other = await buildTenant(own.database);
    const names = ["input", "output", "value", "step", "file", "answer", "none", "foreign", "foreignFile"] as const;
    const keys = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await put()] as const)));
    const theirs = await put(other);
    const ref = (name: string) => ({ ref: { $blob: keys[name] ?? "", size: 1 } });
    await buildRun(own.database, tenant, { inputs: { "in-0": ref("input") } });
    await buildRun(own.database, other, { inputs: { "in-0": ref("foreign") } });
    // Each row in the tables of runs belongs to a different run, because these tables are searched run by run.
    const [failed, long, agent] = [
      await buildRun(own.database, tenant),
      await buildRun(own.database, tenant),
      await buildRun(own.database, tenant),
    ];
    await system("insert into run_checkpoints (run_id, org_id, nodes) values ($1, $2, $3)", [
      failed,
      tenant.org_id,
      JSON.stringify({ a: ref("output") }),
    ]);
    await recordNode(long, keys["value"] ?? "");
    await system("insert into agent_steps (run_id, path, org_id, answer) values ($1, 'agent-0/steps[0]', $2, $3)", [
      agent,
      tenant.org_id,
      JSON.stringify(ref("step")),
    ]);
    // Rows of another organisation are not searched, although its runs are between the others.
    for (const [of, key] of [
      [tenant, "file"],
      [other, "foreignFile"],
    ] as const)
      await system(
        `insert into documents (file_id, org_id, project_id, node_id, user_id, filename, mime_type, size, content_hash, blob_key)
         values (gen_random_uuid(), $1, $2, 'doc-0', 'u', 'f', 'text/plain', 1, 'h', $3)`,
        [of.org_id, of.project_id, keys[key]],
      );
    await system(
      `insert into idempotency_keys (org_id, key, operation, request_hash, resource_id, response)
       values ($1, 'k', 'createRun', '\\x00', gen_random_uuid(), jsonb_build_object('status', 201, 'blob', $2::text))`,
      [tenant.org_id, keys["answer"]],
    );
    const all = [...names.map((name) => keys[name] ?? ""), theirs];
    expect(await removeUnreferenced({ db: own.database, blobs }, tenant.org_id, all, 1)).toHaveLength(3);
    const there = await Promise.all(names.map(async (name) => [name, await blobExists(blobs, keys[name] ?? "")]));
    const gone: readonly string[] = ["none", "foreign", "foreignFile"];
    expect(there).toEqual(names.map((name) => [name, !gone.includes(name)]));
    expect(await blobExists(blobs, theirs)).toBe(true);
  });
});

/** The tables that have rows of a run. */
async function tablesOf(run: string): Promise<string[]> {
  const tables = await system(
    `select c.table_name as name from information_schema.columns c join information_schema.tables t
       using (table_schema, table_name)
     where c.table_schema = 'public' and c.column_name = 'run_id' and t.table_type = 'BASE TABLE' order by 1`,
  );
  const found: string[] = [];
  for (const { name } of tables as Array<{ name: string }>)
    if ((await system(`select from ${name} where run_id::text = $1 limit 1`, [run])).length > 0) found.push(name);
  return found;
}

describe("the retention of runs", () => {
  it("purges old finished runs with their records, and then their blobs", async () => {
    const [key, long] = [await put(), await put()];
    const old = await buildRun(own.database, tenant, { inputs: { "in-0": { ref: { $blob: key, size: 1 } } } });
    const parent = await buildRun(own.database, tenant);
    const child = await buildRun(own.database, tenant, { parent_run_id: parent });
    const resumed = await buildRun(own.database, tenant);
    const again = await buildRun(own.database, tenant, { resumed_from: { run_id: resumed } as never });
    const recent = await buildRun(own.database, tenant);
    await system(
      `insert into run_events (run_id, seq, org_id, type, at, data) values ($1, 1000, $2, 't', now(), '{}')`,
      [old, tenant.org_id],
    );
    await recordNode(old, long);
    expect(await tablesOf(old)).toEqual(expect.arrayContaining(["node_runs", "run_events", "run_pauses", "runs"]));
    await Promise.all([end(old, 31), end(recent, 29), end(parent, 31), end(resumed, 31)]);
    // A finished run is kept while a child run, or a run that reuses its values, is unfinished or recent.
    const purge = () => own.database.system((db) => purgeRuns(db, 30, 1));
    expect([await purge(), await purge()]).toEqual([1, 0]);
    const left = (await system("select run_id from runs where org_id = $1 order by run_id", [
      tenant.org_id,
    ])) as unknown;
    expect(left).toEqual([parent, child, resumed, again, recent].toSorted().map((run_id) => ({ run_id })));
    expect(await tablesOf(old)).toEqual([]);
    await Promise.all([end(child, 31), end(again, 29)]);
    expect([await purge(), await purge(), await purge(), await purge()]).toEqual([1, 1, 1, 0]);
    expect([await sweep(), await blobExists(blobs, key), await blobExists(blobs, long)]).toEqual([2, false, false]);
  });

  it("goes by the hour of a run's end, and never by the start of an unfinished run", async () => {
    const [gone, kept, open] = [
      await buildRun(own.database, tenant),
      await buildRun(own.database, tenant),
      await buildRun(own.database, tenant),
    ];
    await system(
      `update runs set state = 'RUNNING', created_at = now() - interval '90 days', started_at = now() - interval '90 days'
       where org_id = $1`,
      [tenant.org_id],
    );
    const hour = 1 / 24;
    await Promise.all([end(gone, 7 + hour), end(kept, 7 - hour)]);
    await own.database.org(tenant.org_id, (db) => setRetention(db, tenant.project_id, 7));
    expect(await own.database.system((db) => purgeRuns(db, null, 100))).toBe(1);
    const left = await system("select run_id from runs where org_id = $1 order by run_id", [tenant.org_id]);
    expect(left).toEqual([kept, open].toSorted().map((run_id) => ({ run_id })));
  });

  it("uses the fewest days of installation, organisation and project, and takes organisations in turn", async () => {
    const [other, unset] = [await buildTenant(own.database), await buildTenant(own.database)];
    const second = { ...tenant, project_id: await buildProject(own.database, tenant.org_id) };
    const keep = ({ org_id }: Tenant, project: string | null, days: number) =>
      own.database.org(org_id, (db) => setRetention(db, project, days));
    await keep(tenant, null, 10);
    await keep(tenant, second.project_id, 5);
    await keep(other, null, 60);
    const made = async (of: Tenant, days: number) => {
      const run = await buildRun(own.database, of);
      await end(run, days);
      return run;
    };
    const ours = [await made(tenant, 41), await made(tenant, 40), await made(tenant, 11)];
    const kept = [await made(tenant, 9), await made(second, 4), await made(other, 29), await made(unset, 29)];
    const [short, theirs, free] = [await made(second, 6), await made(other, 31), await made(unset, 31)];
    const left = async () =>
      (
        (await system("select run_id from runs where org_id = any ($1)", [
          [tenant, other, unset].map((t) => t.org_id),
        ])) as Array<{
          run_id: string;
        }>
      ).map(({ run_id }) => run_id);
    const purge = (days: number | null, limit: number) => own.database.system((db) => purgeRuns(db, days, limit));
    // The oldest run of each organisation is purged before the second of any.
    expect(await purge(30, 3)).toBe(3);
    expect((await left()).toSorted()).toEqual([...ours.slice(1), ...kept, short].toSorted());
    expect(await purge(30, 100)).toBe(3);
    expect((await left()).toSorted()).toEqual(kept.toSorted());
    // Without days for the installation, only policies of organisations and projects apply.
    expect(await purge(null, 100)).toBe(0);
    await keep(tenant, null, 1);
    expect(await purge(null, 100)).toBe(2);
    expect([theirs, free].some((run) => kept.includes(run))).toBe(false);
  });

  it("purges conversation turns together with the runs of their project", async () => {
    const add = async (of: Tenant, days: number): Promise<string> => {
      const conversation = uuidv7();
      await system(
        `insert into conversations (conversation_id, org_id, project_id, user_id, created_at, updated_at)
         values ($1, $2, $3, $1::uuid::text, now() - interval '90 days', now() - $4::float8 * interval '1 day')`,
        [conversation, of.org_id, of.project_id, days],
      );
      await system(
        `insert into conversation_turns (turn_id, conversation_id, org_id, run_id, path, said, created_at)
         values (gen_random_uuid(), $1, $2, gen_random_uuid(), 'llm-0', '["q", "a"]', now() - $3::float8 * interval '1 day')`,
        [conversation, of.org_id, days],
      );
      return conversation;
    };
    const other = await buildTenant(own.database);
    const second = { ...tenant, project_id: await buildProject(own.database, tenant.org_id) };
    await own.database.org(tenant.org_id, (db) => setRetention(db, tenant.project_id, 7));
    const [gone, kept, theirs] = [await add(tenant, 7.1), await add(tenant, 6.9), await add(other, 8)];
    const [beside, empty] = [await add(second, 8), await add(second, 8)];
    await system("delete from conversation_turns where conversation_id = $1", [empty]);
    expect(await own.database.system((db) => purgeTurns(db, null, 10))).toBe(1);
    const left = await system("select conversation_id from conversations where conversation_id = any ($1)", [
      [gone, kept, theirs, beside, empty],
    ]);
    expect(left).toHaveLength(4);
    expect(left).not.toContainEqual({ conversation_id: gone });
  });
});
