import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { startPostgres, type RunningPostgres } from "../../src/dev/postgres.ts";
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
  it("keeps its data and password, whether its server or its owner was stopped or killed", async () => {
    const dir = scratchDirectory();
    const first = await start(dir);
    await query(first.url, "create table kept as select 42 as answer");
    const holds = async ({ url }: RunningPostgres): Promise<void> => {
      expect(url.replace(/:\d+\//, "/")).toBe(first.url.replace(/:\d+\//, "/"));
      expect(await query(url, "select answer from kept")).toEqual([{ answer: 42 }]);
    };
    await first.stop();
    const stopped = await start(dir);
    await holds(stopped);

    process.kill(stopped.pid, "SIGKILL");
    expect(await stopped.ended).toBe("signal SIGKILL");
    const stray = await start(dir);
    await holds(stray);

    // The start stops the server that a killed owner left running on the folder.
    const second = await start(dir);
    expect(await stray.ended).toBe("exit code 0");
    await holds(second);

    const pidFile = join(dir, "data/postmaster.pid");
    const lines = readFileSync(pidFile, "utf8").split("\n");
    await second.stop();
    // The ID of an unrelated process.
    writeFileSync(pidFile, [String(process.pid), ...lines.slice(1)].join("\n"), { mode: 0o600 });
    const last = await start(dir);
    await holds(last);

    // An interrupted creation of the cluster starts again.
    await last.stop();
    rmSync(join(dir, "data"), { recursive: true });
    writeFileSync(join(dir, "data.new"), "half of something");
    const anew = await start(dir);
    expect(await query(anew.url, "select current_database() as name")).toEqual([{ name: "millrace" }]);
  });

  it("starts in a folder closed to other users, requires its password, and handles text of any language", async () => {
    // Like the home directory of root.
    const closed = join(scratchDirectory(), "closed");
    mkdirSync(closed, { mode: 0o700 });
    const { url } = await start(join(closed, "postgres"));
    const wrong = new URL(url);
    wrong.password = "guess";
    await expect(query(wrong.href, "select 1")).rejects.toThrow("password authentication failed");
    expect(await query(url, "select lower('ÄÉΣ') as low")).toEqual([{ low: "äéσ" }]);
  });
});
