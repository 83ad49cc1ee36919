import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { purgeRuns } from "../../../src/stores/runs/run-retention.ts";
import { purgeFirings } from "../../../src/stores/triggers/firings.ts";
import { purgeEvents } from "../../../src/stores/webhooks/outbox.ts";
import { flow } from "../../engine/support.ts";
import type { Answer } from "../../support/client.ts";
import { eventually } from "../../support/scratch.ts";
import { importInto, makeDataset, rowsPath } from "../evals/evals.ts";
import { echo, openTenant } from "../tenant.ts";
import { placesOf } from "./places.ts";
import { eraseUser, runOfUser } from "./users.ts";

it("erasure-gap: deletes dataset rows that name a run of the user, in every version, and no others", async () => {
  const mine = await openTenant();
  const [user, other] = [`gap-${randomUUID()}`, `kept-${randomUUID()}`];
  const [marker, kept] = [`text-of-${user}`, `text-of-${other}`];
  const project_id = await mine.deploy(echo());
  const [run, keptRun] = [
    await runOfUser(mine, project_id, user, marker),
    await runOfUser(mine, project_id, other, kept),
  ];
  const dataset = await makeDataset(mine);
  const values = (text: string) => ({ inputs: { "in-0": text }, expected_outputs: { "out-0": text } });
  const rowsOf = (id: string, text: string) => [
    { ...values(text), run_id: id.toUpperCase() },
    { ...values(text), metadata: { run_id: id } },
    { ...values(text), metadata: { run_id: id.toUpperCase() } },
  ];
  // A metadata value that is not a valid ID is only a text, whatever its length.
  const more = { ...values("typed"), metadata: { run_id: "x".repeat(50_000) } };
  const rows = [...rowsOf(run, marker), ...rowsOf(keptRun, kept), more];
  const added = await mine.secret.post(rowsPath(dataset), { rows });
  expect(added.status, JSON.stringify(added.body)).toBe(201);
  const sources = added.body.rows.map(({ source }: Answer["body"]) => source);
  const typed = { type: "manual", run_id: null };
  const made = (run_id: string) => [{ type: "run", run_id }, typed, typed];
  expect(sources).toEqual([...made(run), ...made(keptRun), typed]);
  const [first, second] = added.body.rows.map(({ row_id }: Answer["body"]) => `${rowsPath(dataset)}/${row_id}`);
  expect((await mine.secret.patch(first, { inputs: { "in-0": `${marker} again` } })).body.source.run_id).toBe(run);
  expect((await mine.secret.delete(second)).status).toBe(204);
  const theirs = await openTenant();
  for (const client of [mine, theirs]) {
    const id = client === mine ? randomUUID() : run;
    const refused = await client.secret.post(rowsPath(client === mine ? dataset : await makeDataset(theirs)), {
      rows: [values("x"), { ...values("x"), run_id: id }],
    });
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "rows", 1, "run_id"]]);
  }
  expect(await placesOf(mine, [marker])).toContain("eval_dataset_rows.inputs");

  const { removed } = await eraseUser(mine, user);
  // The changed row has two states.
  expect(removed).toMatchObject({ runs: 1, dataset_rows: 4 });
  expect(await placesOf(mine, [user])).toEqual([]);
  const { body: left } = await mine.secret.get(rowsPath(dataset), { query: { order: "asc", page_size: 200 } });
  expect(left.data.map(({ inputs }: Answer["body"]) => inputs["in-0"])).toEqual([kept, kept, kept, "typed"]);
  // The run no longer exists, so adding a row from it is refused.
  expect((await mine.secret.post(rowsPath(dataset), { ...values(marker), run_id: run })).status).toBe(422);
}, 120_000);

it("erasure-gap: finds data made from a run after retention has purged runs, events and firings", async () => {
  const tenant = await openTenant();
  const { secret, org_id } = tenant;
  const ok = async (answer: Promise<Answer>): Promise<Answer["body"]> => {
    const { status, body } = await answer;
    expect(status, JSON.stringify(body)).toBeLessThan(300);
    return body;
  };
  const [project_id, chained] = [await tenant.deploy(echo()), await tenant.deploy(echo())];
  const inputs = { project_id: chained, inputs: { "in-0": "{{in-0}}" } };
  const starting = await tenant.deploy(
    flow(
      [
        { id: "in-0", type: "input" },
        { id: "act-0", type: "action", config: { provider_id: "millrace", action_id: "start_run", inputs } },
        { id: "out-0", type: "output" },
      ],
      ["in-0>act-0", "act-0>out-0"],
    ),
  );
  const output = "payload.outputs['out-0']";
  const listen = (expression: string) => {
    const config = { project_id };
    const body = { provider_id: "millrace", trigger_id: "run_event", project_id: chained, config };
    return ok(secret.post("/v2/triggers", { ...body, inputs: { "in-0": expression } }));
  };
  await listen(output);
  const failing = await listen(`string(int(${output}))`);
  const dataset_id = await makeDataset(tenant);
  const imported = async (mode: string, more: object): Promise<Answer["body"]> => {
    const source = { type: "runs", filter: { project_id }, limit: 10 };
    return importInto(tenant, dataset_id, { source, mode, ...more });
  };

  /** Inputs of the runs that triggers and actions have started. */
  const given = () =>
    tenant.withDatabase((database) =>
      database.org(org_id, (db) =>
        db.column<string>(
          "select inputs #>> '{in-0,v}' from runs where project_id = $1::uuid and state = 'COMPLETED'",
          [chained],
        ),
      ),
    );
  async function fired(marker: string, count: number): Promise<void> {
    await eventually("the trigger shows an error", async () => {
      const { body } = await secret.get(`/v2/triggers/${failing.id}`);
      return body.last_error?.includes(marker);
    });
    const started = async () => (await given()).filter((text) => text === marker).length;
    await expect.poll(started, { timeout: 60_000, interval: 100 }).toBe(count);
  }

  /** Creates everything that can be derived from a user's run without recording the user. */
  async function use(user: string, marker: string): Promise<void> {
    const run_id = await runOfUser(tenant, project_id, user, marker);
    const told = { name: "tone", data_type: "categorical", value: marker, comment: marker };
    const score = await ok(secret.post(`/v2/evals/runs/${run_id}/scores`, told));
    await ok(secret.patch(`/v2/evals/scores/${score.score_id}`, { comment: `${marker} again` }));
    await ok(secret.delete(`/v2/evals/scores/${score.score_id}`));
    const row = { inputs: { "in-0": marker } };
    await ok(
      secret.post(rowsPath(dataset_id), {
        rows: [
          { ...row, run_id },
          { ...row, metadata: { run_id } },
        ],
      }),
    );
    // A row that a person typed is overwritten with the values of the run.
    await ok(secret.post(rowsPath(dataset_id), { inputs: { "in-0": "typed" }, external_id: run_id }));
    expect((await imported("upsert", {})).counts.updated).toBeGreaterThan(0);
    // Neither the mapped row nor its error contains the run ID.
    const mapping = { inputs: { "in-0": "in-0" }, external_id: "in-0" };
    await runOfUser(tenant, project_id, user, marker);
    const shown = await imported("append", { mapping, dry_run: true });
    expect([shown.counts.failed, JSON.stringify(shown.preview).includes("run_id")]).toEqual([1, false]);
    expect(shown.errors[0]).toEqual({ line: 2, code: "duplicate_external_id", message: expect.any(String) });
    await runOfUser(tenant, starting, user, marker);
    await fired(marker, 3);
    expect(await placesOf(tenant, [marker])).toEqual(
      expect.arrayContaining([
        "audit_log.changes",
        "eval_dataset_rows.inputs",
        "eval_imports.errors",
        "eval_imports.preview",
        "triggers.last_error",
      ]),
    );
  }

  const [one, two, kept] = ["one", "two", "kept"].map((name) => `${name}-${randomUUID()}`) as [string, string, string];
  await use(one, `said-${one.slice(0, 12)}`);
  await eraseUser(tenant, one);
  expect(await placesOf(tenant, [`said-${one.slice(0, 12)}`, one])).toEqual([]);

  await use(two, `said-${two.slice(0, 12)}`);
  await runOfUser(tenant, project_id, kept, "kept");
  await fired("kept", 1);
  for (const id of [project_id, starting]) await ok(secret.patch(`/v2/projects/${id}/retention`, { run_days: 1 }));
  await tenant.withDatabase((database) =>
    database.system(async (db) => {
      const days = 60;
      await db.query(
        `update runs set finished_at = now() - make_interval(days => $3::int) where org_id = $1::uuid and project_id = any ($2::uuid[])`,
        [org_id, [project_id, starting], days],
      );
      await db.query(
        `update trigger_firings set created_at = now() - make_interval(days => $2::int) where org_id = $1::uuid`,
        [org_id, days],
      );
      await db.query(
        `update outbox set event_id = ('00000000' || substr(event_id::text, 9))::uuid where org_id = $1::uuid`,
        [org_id],
      );
      for (const purge of [
        () => purgeFirings(db, 86_400_000, 1000),
        () => purgeEvents(db, 86_400_000, 1000),
        () => purgeRuns(db, null, 100),
      ])
        await eventually("they are removed", async () => (await purge()) === 0);
    }),
  );
  const { body: runs } = await secret.get("/v2/runs", { query: { page_size: 200 } });
  expect(runs.data.every((run: Answer["body"]) => run.project_id === chained)).toBe(true);
  const { user_hash, removed } = await eraseUser(tenant, two);
  expect(removed).toMatchObject({ runs: 3, dataset_rows: expect.any(Number), audit_values: expect.any(Number) });
  expect(await placesOf(tenant, [`said-${two.slice(0, 12)}`, two])).toEqual([]);
  expect(await placesOf(tenant, [user_hash])).toEqual(["audit_log.changes", "erasures.user_hash"]);
  expect(await given()).toEqual(["kept"]);
}, 150_000);

it("erasure-gap: deletes runs with pinned values of the user's run, copies of copies and what was made from them", async () => {
  const tenant = await openTenant();
  const { secret, org_id } = tenant;
  const project_id = await tenant.deploy(echo());
  expect((await secret.put(`/v2/projects/${project_id}/draft`, { flow: echo() })).status).toBeLessThan(300);
  /** Tries the draft with a value of an earlier run. */
  async function pinned(text: string, run_id: string | null, user_id: string | null = null): Promise<string> {
    const from = run_id === null ? {} : { pinned_from: { "in-0": run_id } };
    const body = { project_id, draft: true, inputs: {}, pinned: { "in-0": text }, ...from, user_id, mode: "sync" };
    const { status, body: run } = await secret.post("/v2/runs", body);
    expect([status, run.state], JSON.stringify(run)).toEqual([201, "COMPLETED"]);
    return run.run_id;
  }
  const [ada, bob] = [`ada-${randomUUID()}`, `bob-${randomUUID()}`];
  const dataset = await makeDataset(tenant);

  async function use(text: string): Promise<void> {
    const first = await pinned(text, await runOfUser(tenant, project_id, ada, text), bob);
    const second = await pinned(text, first);
    const row = { run_id: second, inputs: { "in-0": text }, expected_outputs: {} };
    expect((await secret.post(rowsPath(dataset), row)).status).toBe(201);
  }
  await use(`first of ${ada}`);
  await pinned("typed", null, bob);
  await eraseUser(tenant, ada);
  expect(await placesOf(tenant, [ada])).toEqual([]);
  const left = async () => (await secret.get("/v2/runs", { query: { page_size: 200 } })).body.data;
  expect((await left()).map(({ user_id }: Answer["body"]) => user_id)).toEqual([bob]);

  // Retention deletes the user's run and the copies, oldest first and all at once, but not the dataset's row and the last copy.
  await use(`second of ${ada}`);
  const [newest] = await left();
  const last = await pinned(`last of ${ada}`, newest.run_id);
  expect((await secret.patch(`/v2/projects/${project_id}/retention`, { run_days: 1 })).status).toBe(200);
  await tenant.withDatabase((database) =>
    database.system(async (db) => {
      await db.query(
        "update runs set finished_at = now() - interval '60 days' where org_id = $1::uuid and run_id <> $2::uuid",
        [org_id, last],
      );
      await eventually("they are removed", async () => (await purgeRuns(db, null, 100)) === 0);
    }),
  );
  expect((await left()).map(({ run_id }: Answer["body"]) => run_id)).toEqual([last]);
  await eraseUser(tenant, ada);
  expect(await placesOf(tenant, [ada])).toEqual([]);
  expect(await left()).toEqual([]);
}, 120_000);
