import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { migrate } from "../../src/stores/migrate.ts";
import { administer } from "../support/database.ts";
import { as, MIGRATIONS, ownPostgres } from "../support/own-postgres.ts";
import { findPgBouncer, startPgBouncer } from "../support/pgbouncer.ts";
import { scratchDirectory } from "../support/scratch.ts";

const found = findPgBouncer();

/** The exit code and output of a main file. Not spawnSync, because this process reads the poolers' output. */
function run(name: string, databaseUrl: string): Promise<[number | null, string]> {
  const program = fileURLToPath(new URL(`../../dist/src/${name}-main.js`, import.meta.url));
  const env = {
    PATH: process.env["PATH"],
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: inject("millrace").temporalAddress,
    MILLRACE_BLOB_URL: scratchDirectory(),
    PORT: "0",
  };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [program], { env }, (_, __, stderr) => resolve([child.exitCode, stderr]));
  });
}

describe.skipIf(typeof found !== "string")(
  `a real PgBouncer${typeof found === "string" ? "" : `: ${found.no}`}`,
  () => {
    const program = typeof found === "string" ? found : "";
    let server: Awaited<ReturnType<typeof ownPostgres>>;
    let login: string;
    beforeAll(async () => {
      server = await ownPostgres();
      await administer(server.url, "create role service login createrole password 'sesame'");
      await administer(server.url, "create role root superuser login password 'sesame'");
      await administer(server.url, "alter database millrace owner to service");
      login = as(server.url, "service", "sesame");
      await migrate(login, MIGRATIONS);
    });
    afterAll(() => server?.close());

    it.each([
      ["in transaction mode, which ignores what a connection asks for", { pool_mode: "transaction" }, "options"],
      ["in session mode, which ignores it as well", { pool_mode: "session" }, "options"],
      ["that refuses what a connection asks for, as it does unless told otherwise", { pool_mode: "transaction" }, ""],
    ])("pooler: %s, is rejected by every process, which prints only the reason", async (_, mode, ignored) => {
      const settings = { ...mode, ...(ignored === "" ? {} : { ignore_startup_parameters: ignored }) };
      // In one of the cases a superuser, who may do everything.
      const users = ignored === "" ? [login, as(server.url, "root", "sesame")] : [login];
      for (const url of users) {
        const pooler = await startPgBouncer(program, url, settings);
        try {
          const ends = await Promise.all(["api", "worker"].map((name) => run(name, pooler.url)));
          for (const end of ends)
            expect(end).toEqual([1, expect.stringMatching(/^[^\n]*not to a pooler such as PgBouncer\.\n$/)]);
        } finally {
          await pooler.close();
        }
      }
    });
  },
);
