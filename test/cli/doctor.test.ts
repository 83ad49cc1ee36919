import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildTenant, putSubscription } from "../stores/rows.ts";
import { createSecretBox } from "../../src/platform/secrets/seal.ts";
import { sealSecret } from "../../src/services/webhooks/subscription-secrets.ts";
import { openDatabase } from "../../src/stores/db.ts";
import { cloneDatabase } from "../support/database.ts";
import { scratchDirectory } from "../support/scratch.ts";
import { startService } from "../support/service.ts";
import type { OwnService } from "../support/service.ts";
import { uuidv7 } from "uuidv7";
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

/** Runs `millrace doctor` as the service is configured, but for what a test breaks. */
async function doctor(broken: Record<string, string> = {}): Promise<{ code: number; report: Report }> {
  const { code, stdout, stderr } = await millrace(["doctor", "--json"], { ...service.env, ...broken });
  expect(stderr).toBe("");
  return { code, report: JSON.parse(stdout) as Report };
}

/** What is not in order with one thing broken: that part alone is named, and what to do is said. */
async function complaints(broken: Record<string, string>): Promise<Report["findings"]> {
  const { code, report } = await doctor(broken);
  expect([code, report.healthy]).toEqual([1, false]);
  const problems = report.findings.filter(({ state }) => state === "problem");
  for (const { advice } of problems) expect(advice).toMatch(/\w/);
  return problems;
}

it("finds a running installation in order, on one screen", async () => {
  // Temporal lists a poller once its first poll has come.
  await expect.poll(async () => (await doctor()).report.healthy).toBe(true);
  const { code, stdout } = await millrace(["doctor"], service.env);
  expect(code).toBe(0);
  for (const part of ["Node", "Postgres", "Role", "Schema", "Temporal", "Task queues", "Blobs", "Master key", "Clock"])
    expect(stdout).toMatch(new RegExp(`^ok +${part} `, "m"));
  expect(stdout.split("\n").length).toBeLessThan(25);
  expect(stdout).not.toContain(new URL(service.databaseUrl).password || "no password");
});

it("names the one part that is broken, and what to do about it", async () => {
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
  const key = { MILLRACE_MASTER_KEY: randomBytes(32).toString("base64") };
  expect(await complaints({ ...key, MILLRACE_BLOB_URL: file })).toMatchObject([{ part: "Blobs" }]);
  expect(await complaints({ ...key, MILLRACE_BLOB_URL: join(file, "..", "none") })).toMatchObject([
    { part: "Blobs", text: expect.stringContaining("it is not there") as string },
  ]);
  const s3 = { MILLRACE_S3_ACCESS_KEY_ID: "id", MILLRACE_S3_SECRET_ACCESS_KEY: "hunter2" };
  const bucket = await complaints({ ...key, ...s3, MILLRACE_BLOB_URL: "s3://bucket?endpoint=http://127.0.0.1:9" });
  expect(bucket).toMatchObject([{ part: "Blobs", text: expect.stringContaining("s3://bucket") as string }]);
  expect(await complaints({ PORT: "http" })).toMatchObject([
    { part: "Configuration", text: expect.stringContaining("PORT") as string },
  ]);
});

it("sees a schema that is behind or ahead, and secrets that the master key does not open", async () => {
  const clone = await cloneDatabase();
  const database = openDatabase({ url: clone.url, poolSize: 2, applicationName: "test", onError: () => undefined });
  try {
    const system = (sql: string) => database.system((db) => db.query(sql));
    await system("update migrations set name = '9999_later.sql' where name = '0004_webhooks.sql'");
    expect(await complaints({ DATABASE_URL: clone.url })).toMatchObject([
      { part: "Schema", text: expect.stringContaining("9999_later.sql") as string },
    ]);
    await system("delete from migrations where name = '9999_later.sql'");
    expect(await complaints({ DATABASE_URL: clone.url })).toMatchObject([
      { part: "Schema", advice: expect.stringContaining("millrace migrate") as string },
    ]);
    await system("insert into migrations (name) values ('0004_webhooks.sql')");

    const { org_id } = await buildTenant(database);
    const id = uuidv7();
    const secret = sealSecret(createSecretBox([randomBytes(32)]), id, "whsec_x");
    await database.system((db) => putSubscription(db, org_id, id, { secret, headers: null }));
    expect(await complaints({ DATABASE_URL: clone.url })).toMatchObject([
      { part: "Master key", text: expect.stringContaining("does not open 1") as string },
    ]);
  } finally {
    await database.close();
    await clone.drop();
  }
});
