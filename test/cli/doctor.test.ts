import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from "vitest";
import { buildTenant, putSubscription } from "../stores/rows.ts";
import { createSecretBox } from "../../src/platform/secrets/seal.ts";
import { sealSecret } from "../../src/services/webhooks/subscription-secrets.ts";
import { firstIdOf } from "../../src/domain/uuid.ts";
import { openDatabase } from "../../src/stores/db.ts";
import { migrate } from "../../src/stores/migrate.ts";
import { MIGRATIONS } from "../support/own-postgres.ts";
import { administer, claimedSetting, claimingDatabase, cloneDatabase } from "../support/database.ts";
import { scratchDirectory } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";
import { uuidv7 } from "uuidv7";
import { findTemporal } from "../../src/dev/temporal-binary.ts";
import { startTemporal } from "../../src/dev/temporal.ts";
import { startStsServer } from "../support/sts-server.ts";
import { millrace } from "./millrace.ts";

let service: OwnService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.close());

interface Report {
  readonly healthy: boolean;
  readonly findings: ReadonlyArray<{ part: string; state: string; text: string; advice?: string }>;
}

/** Runs `millrace doctor` with the configuration of the installation, except for the given variables. */
async function doctor(broken: Record<string, string> = {}): Promise<{ code: number; report: Report }> {
  const { code, stdout, stderr } = await millrace(["doctor", "--json"], { ...service.env, ...broken });
  expect(stderr).toBe("");
  return { code, report: JSON.parse(stdout) as Report };
}

/** The findings when one variable is wrong: they must name that part only, with advice. */
async function complaints(broken: Record<string, string>): Promise<Report["findings"]> {
  const { code, report } = await doctor(broken);
  expect([code, report.healthy]).toEqual([1, false]);
  const problems = report.findings.filter(({ state }) => state === "problem");
  for (const { advice } of problems) expect(advice).toMatch(/\w/);
  return problems;
}

it("reports a healthy installation on one screen", async () => {
  // Temporal lists a poller only after its first poll.
  await expect.poll(async () => (await doctor()).report.healthy).toBe(true);
  const { code, stdout } = await millrace(["doctor"], service.env);
  expect(code).toBe(0);
  for (const part of [
    "Node",
    "Postgres",
    "Role",
    "Schema",
    "Temporal",
    "Fairness",
    "Task queues",
    "Schedules",
    "House",
    "Starts",
    "Erasures",
    "Blobs",
    "Master key",
    "Clock",
  ])
    expect(stdout).toMatch(new RegExp(`^ok +${part} `, "m"));
  expect(stdout.split("\n").length).toBeLessThan(25);
  expect(stdout).not.toContain(new URL(service.databaseUrl).password || "no password");
});

it("names an unknown setting", async () => {
  const { report } = await doctor({ MILLRACE_BLOB_URI: "/data" });
  expect(report.findings).toContainEqual({
    part: "Configuration",
    state: "warning",
    text: "MILLRACE_BLOB_URI is not a setting and has no effect; did you mean MILLRACE_BLOB_URL?",
    advice: "Correct or remove it; docs/configuration.md lists all variables.",
  });
  const { code, stdout } = await millrace(["doctor"], { ...service.env, MILLRACE_BLOB_URI: "/data" });
  expect([code, stdout.trim().split("\n").at(-1)]).toEqual([
    0,
    expect.stringMatching(/^No problems found, \d warnings?\.$/),
  ]);
});

it.each([
  [
    "a server that does not answer",
    { TEMPORAL_ADDRESS: "127.0.0.1:9" },
    /^Temporal at 127\.0\.0\.1:9: .+\. Start it, or correct TEMPORAL_ADDRESS/,
  ],
  [
    "a namespace that is not there",
    { TEMPORAL_NAMESPACE: "nowhere" },
    /^Temporal at .+ does not give access to namespace nowhere: .+ Create the namespace \(temporal operator namespace create -n nowhere\), or correct TEMPORAL_NAMESPACE/,
  ],
])("deployment commands report %s", async (_, broken, said) => {
  const env = { ...service.env, MILLRACE_DEPLOYMENT: "millrace", MILLRACE_BUILD_ID: "v1", ...broken };
  const outcome = await millrace(["deployment", "status"], env);
  expect(outcome).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(said) });
});

it("counts schedules that are missing in Temporal", async () => {
  // No worker uses this copy of the database, so nothing repairs its rows.
  const clone = await cloneDatabase();
  const { url } = clone;
  const database = openDatabase({ url, poolSize: 1, applicationName: "test", onError: () => undefined });
  const found = async () =>
    (await doctor({ DATABASE_URL: url })).report.findings.find(({ part }) => part === "Schedules");
  try {
    const { org_id, project_id } = await buildTenant(database);
    expect(await found()).toMatchObject({ state: "ok" });
    const id = uuidv7();
    // As after the loss of Temporal's database: the row is marked as applied, but the schedule does not exist.
    await database.system((db) =>
      db.query(
        `insert into triggers (id, org_id, project_id, provider_id, trigger_id, kind, config, applied_revision) values ($1, $2, $3,
          'millrace', 'schedule', 'schedule', '{"cron": "@yearly", "time_zone": "UTC", "overlap": "skip", "catchup_window_seconds": 60,
          "jitter_seconds": 0}', 1)`,
        [id, org_id, project_id],
      ),
    );
    const lost = await found();
    expect(lost).toMatchObject({ state: "warning", text: expect.stringMatching(/^1 of 4 .*, and 0 in Temporal/) });
    expect(lost?.advice).toContain("Workers repair this");
    await database.system((db) => db.query("delete from triggers where id = $1", [id]));
    expect(await found()).toMatchObject({ state: "ok" });
  } finally {
    await database.close();
    await clone.drop();
  }
});

it("says why workflows could not be started, and when the partitions end if no worker creates the next one", async () => {
  const clone = await cloneDatabase();
  const findings = async () => (await doctor({ DATABASE_URL: clone.url })).report.findings;
  const found = async () => (await findings()).find(({ part }) => part === "Partitions");
  try {
    await administer(
      clone.url,
      `with own as (insert into organisations (org_id, name) values (gen_random_uuid(), 'own') returning org_id)
        insert into workflow_starts (kind, id, org_id, urgency, input, last_error)
          select 'erasure', gen_random_uuid(), org_id, 3, '{}', error from own, unnest(array[null, 'Error: no namespace']) as error`,
    );
    expect(await findings()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          part: "Starts",
          state: "warning",
          text: "1 of 2 waiting workflows could not be started: Error: no namespace",
        }),
        expect.objectContaining({
          part: "Partitions",
          state: "ok",
          text: expect.stringMatching(/^exist until \d{4}-\d\d-\d\d$/),
        }),
      ]),
    );
    await administer(clone.url, "alter table agent_steps detach partition agent_steps_first");
    await administer(
      clone.url,
      `create table agent_steps_now partition of agent_steps for values
        from ('00000000-0000-0000-0000-000000000000') to ('${firstIdOf(Date.now() + 10 * 86_400_000)}')`,
    );
    const day = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10);
    expect(await found()).toMatchObject({ state: "warning", text: expect.stringContaining(`until ${day}`) });
    await administer(clone.url, "drop table agent_steps_now");
    expect(await found()).toMatchObject({
      state: "warning",
      text: "the partitions of run records are missing",
      advice: expect.stringContaining("Start a worker"),
    });
  } finally {
    await clone.drop();
  }
});

it("names the only broken part, and the fix", async () => {
  const nowhere = new URL(service.databaseUrl);
  nowhere.pathname = "/nowhere";
  expect(await complaints({ DATABASE_URL: nowhere.href })).toMatchObject([
    { part: "Postgres", text: expect.stringContaining('database "nowhere" does not exist') as string },
  ]);
  expect(await complaints({ DATABASE_URL: "postgres://a:b@127.0.0.1:9/c" })).toMatchObject([
    { part: "Postgres", text: expect.stringContaining("127.0.0.1:9/c") as string },
  ]);
  expect(await complaints({ TEMPORAL_ADDRESS: "127.0.0.1:9" })).toMatchObject([
    { part: "Temporal", advice: expect.stringContaining("TEMPORAL_ADDRESS") as string },
  ]);
  expect(await complaints({ TEMPORAL_NAMESPACE: "elsewhere" })).toMatchObject([
    { part: "Temporal", text: expect.stringContaining("elsewhere") as string },
  ]);
  const idle = await complaints({ MILLRACE_TASK_QUEUE: `idle-${randomBytes(4).toString("hex")}` });
  expect(idle.map(({ part }) => part)).toContain("Task queue");
  expect(idle[0]?.advice).toContain("Start a worker");
  const file = join(scratchDirectory(), "file");
  writeFileSync(file, "no directory");
  expect(await complaints({ MILLRACE_BLOB_URL: file })).toMatchObject([{ part: "Blobs" }]);
  expect(await complaints({ MILLRACE_BLOB_URL: join(file, "..", "none") })).toMatchObject([
    { part: "Blobs", text: expect.stringContaining("does not exist") as string },
  ]);
  const empty = await doctor({ MILLRACE_BLOB_URL: scratchDirectory() });
  expect(empty.report.findings).toContainEqual(
    expect.objectContaining({ part: "Blobs", state: "warning", text: expect.stringContaining("writable and empty") }),
  );
  const s3 = { MILLRACE_S3_ACCESS_KEY_ID: "id", MILLRACE_S3_SECRET_ACCESS_KEY: "hunter2" };
  const bucket = await complaints({ ...s3, MILLRACE_BLOB_URL: "s3://bucket?endpoint=http://127.0.0.1:9" });
  expect(bucket).toMatchObject([{ part: "Blobs", text: expect.stringContaining("s3://bucket") as string }]);
  const role = { AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/blobs", AWS_WEB_IDENTITY_TOKEN_FILE: file };
  const sts = await startStsServer();
  onTestFinished(() => sts.close());
  const ofRole = { ...role, AWS_ENDPOINT_URL_STS: sts.url, MILLRACE_BLOB_URL: "s3://bucket" };
  expect(await complaints(ofRole)).toMatchObject([
    {
      part: "Blobs",
      text: expect.stringMatching(/returned no credentials for the role arn:.*file: 400 Invalid/) as string,
      advice: expect.stringContaining("trust") as string,
    },
  ]);
  expect(await complaints({ PORT: "http" })).toMatchObject([
    { part: "Configuration", text: expect.stringContaining("PORT") as string },
  ]);
});

it("noisy-neighbour: reports a Temporal server that does not serve organisations fairly", async () => {
  expect((await doctor()).report.findings).toContainEqual(expect.objectContaining({ part: "Fairness", state: "ok" }));
  const plain = await startTemporal({
    binary: await findTemporal({ say: () => undefined }),
    dir: scratchDirectory(),
    uiPort: null,
    dynamicConfig: [],
  });
  try {
    const { report } = await doctor({ TEMPORAL_ADDRESS: plain.address });
    expect(report.findings).toContainEqual(
      expect.objectContaining({
        part: "Fairness",
        state: "warning",
        advice: expect.stringContaining("enableFairness"),
      }),
    );
  } finally {
    await plain.stop();
  }
});

it("reports that all connections are in use, not that Postgres is down or a privilege is missing", async () => {
  const clone = await cloneDatabase();
  const name = new URL(clone.url).pathname.slice(1);
  const login = `doctor_${randomBytes(4).toString("hex")}`;
  const limited = new URL(clone.url);
  [limited.username, limited.password] = [login, "sesame"];
  await administer(
    clone.url,
    `create role ${login} login password 'sesame' in role millrace, millrace_app, millrace_search`,
  );
  try {
    for (const [limit, part] of [
      [0, "Postgres"],
      [1, "Role"],
    ] as const) {
      await administer(clone.url, `alter database ${name} connection limit ${limit}`);
      const problems = await complaints({ DATABASE_URL: limited.href });
      expect(problems[0]).toMatchObject({ part, advice: expect.stringContaining("raise max_connections") });
    }
    await administer(clone.url, `alter database ${name} connection limit -1`);
    limited.password = "wrong";
    const [wrong] = await complaints({ DATABASE_URL: limited.href });
    expect(wrong?.advice).toContain("Correct user and password");
  } finally {
    await clone.drop();
    await administer(inject("millrace").adminUrl, `drop role ${login}`);
  }
});

it.each([
  [
    "a clock that is an hour off",
    "Clock",
    "problem",
    `create function claimed.clock_timestamp() returns timestamptz language sql as
       $$ select pg_catalog.clock_timestamp() + interval '1 hour' $$;`,
  ],
  [
    "a role that is exempt from row-level security",
    "Role",
    "problem",
    `create view claimed.pg_roles as select oid, rolname, false as rolsuper, true as rolbypassrls from pg_catalog.pg_roles;
     grant usage on schema claimed to public; grant select on claimed.pg_roles to public;`,
  ],
  [
    "an encoding that cannot hold every text",
    "Postgres",
    "problem",
    "create function claimed.pg_encoding_to_char(integer) returns name language sql as $$ select 'LATIN1'::name $$;",
  ],
  [
    "a server that takes no writes",
    "Postgres",
    "problem",
    "create function claimed.pg_is_in_recovery() returns boolean language sql as $$ select true $$;",
  ],
  ["connections that may not suffice", "Postgres", "warning", claimedSetting("max_connections", "3")],
])("reports %s, with advice", async (_, part, state, definitions) => {
  const { url, drop } = await claimingDatabase(definitions);
  onTestFinished(drop);
  const { report } = await doctor({ DATABASE_URL: url });
  const found = report.findings.filter((each) => each.state !== "ok" && each.part === part);
  expect(found).toMatchObject([{ part, state, advice: expect.stringMatching(/\w/) }]);
});

it("reports a schema that is behind or ahead, and secrets that the master key cannot decrypt", async () => {
  const clone = await cloneDatabase();
  const database = openDatabase({ url: clone.url, poolSize: 2, applicationName: "test", onError: () => undefined });
  try {
    const system = (sql: string) => database.system((db) => db.query(sql));
    await system("update migrations set name = '9999_later.sql' where name = '0004_pauses.sql'");
    expect(await complaints({ DATABASE_URL: clone.url })).toMatchObject([
      { part: "Schema", text: expect.stringContaining("9999_later.sql") as string },
    ]);
    await system("delete from migrations where name = '9999_later.sql'");
    expect(await complaints({ DATABASE_URL: clone.url })).toMatchObject([
      { part: "Schema", advice: expect.stringContaining("millrace migrate") as string },
    ]);
    await system("insert into migrations (name) values ('0004_pauses.sql')");
    await system("drop policy org_rows on runs");
    await system("create policy everybody on runs to millrace_app using (true)");
    expect(await complaints({ DATABASE_URL: clone.url })).toMatchObject([
      { part: "Schema", advice: 'drop policy "everybody" on runs;' },
      {
        part: "Schema",
        text: expect.stringContaining("policy org_rows on runs") as string,
        advice: "Run `millrace migrate`.",
      },
    ]);
    await system('drop policy "everybody" on runs');
    await migrate(clone.url, MIGRATIONS);

    const { org_id } = await buildTenant(database);
    const id = uuidv7();
    const secret = sealSecret(createSecretBox([randomBytes(32)]), id, "whsec_x");
    await database.system((db) => putSubscription(db, org_id, id, { secret, headers: null }));
    expect(await complaints({ DATABASE_URL: clone.url })).toMatchObject([
      { part: "Master key", text: expect.stringContaining("cannot decrypt 1") as string },
    ]);
    // As after a restore without the key: a new key could not decrypt anything.
    expect(
      await complaints({ DATABASE_URL: clone.url, MILLRACE_MASTER_KEY: "", MILLRACE_BLOB_URL: scratchDirectory() }),
    ).toMatchObject([
      { part: "Master key", text: expect.stringContaining("the database has secrets encrypted with") as string },
    ]);
  } finally {
    await database.close();
    await clone.drop();
  }
});
