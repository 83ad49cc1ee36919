import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { startPostgres } from "../../src/dev/postgres.ts";
import type { RunningPostgres } from "../../src/dev/postgres.ts";
import { scratchDirectory } from "../support/scratch.ts";

async function start(dir: string): Promise<RunningPostgres> {
  const postgres = await startPostgres({ dir });
  onTestFinished(() => postgres.stop());
  return postgres;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

describe("the embedded PostgreSQL", () => {
  it("keeps its data and its password from start to start", async () => {
    const dir = scratchDirectory();
    const first = await start(dir);
    await query(first.url, "create table kept as select 42 as answer");
    await first.stop();
    const second = await start(dir);
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
    expect(await query(second.url, "select answer from kept")).toEqual([{ answer: 42 }]);
  });

  it("starts again after a kill -9, with everything that was committed", async () => {
    const dir = scratchDirectory();
    const first = await start(dir);
    await query(first.url, "create table kept as select 42 as answer");
    process.kill(first.pid, "SIGKILL");
    expect(await first.ended).toBe("signal SIGKILL");
    const second = await start(dir);
    expect(await query(second.url, "select answer from kept")).toEqual([{ answer: 42 }]);
  });

  it("stops the server that a killed owner left on the folder", async () => {
    const dir = scratchDirectory();
    const stray = await start(dir);
    const second = await start(dir);
    expect(await stray.ended).toBe("exit code 0");
    expect(await query(second.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("starts despite a pid file that names an unrelated process", async () => {
    const dir = scratchDirectory();
    const first = await start(dir);
    const pidFile = join(dir, "data/postmaster.pid");
    const lines = readFileSync(pidFile, "utf8").split("\n");
    await first.stop();
    writeFileSync(pidFile, [String(process.pid), ...lines.slice(1)].join("\n"), { mode: 0o600 });
    const second = await start(dir);
    expect(await query(second.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("begins anew when it was interrupted while it made the cluster", async () => {
    const dir = scratchDirectory();
    await (await start(dir)).stop();
    rmSync(join(dir, "data/PG_VERSION"));
    rmSync(join(dir, "data"), { recursive: true });
    writeFileSync(join(dir, "data.new"), "half of something");
    const second = await start(dir);
    expect(await query(second.url, "select current_database() as name")).toEqual([{ name: "millrace" }]);
  });

  it("starts below a folder that is closed to other users, as root's home is", async () => {
    const closed = join(scratchDirectory(), "closed");
    mkdirSync(closed, { mode: 0o700 });
    const { url } = await start(join(closed, "postgres"));
    expect(await query(url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("asks for its password", async () => {
    const { url } = await start(scratchDirectory());
    const wrong = new URL(url);
    wrong.password = "guess";
    await expect(query(wrong.href, "select 1")).rejects.toThrow("password authentication failed");
  });

  it("lowers and compares text of any language", async () => {
    const { url } = await start(scratchDirectory());
    expect(await query(url, "select lower('ÄÉΣ') as low")).toEqual([{ low: "äéσ" }]);
  });
});
