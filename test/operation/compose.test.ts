import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { openDatabase } from "../../src/stores/db.ts";
import { migrate } from "../../src/stores/migrate.ts";
import { bareServer, MIGRATIONS } from "../support/own-postgres.ts";
import { findPostgresTools, serverForTools } from "../support/postgres-tools.ts";

interface Compose {
  readonly services: Record<string, { readonly environment: Record<string, string> }>;
  readonly configs: Record<string, { readonly content: string }>;
}

const file = readFileSync(new URL("../../docker-compose.yml", import.meta.url), "utf8");
const { services, configs } = parse(file, { merge: true }) as Compose;
const tools = findPostgresTools();

describe("docker-compose.yml", () => {
  it("has no default password, and says where one is set that is missing", () => {
    const passwords = [...file.matchAll(/\$\{(\w*PASSWORD\w*)([^}]*)\}/g)];
    expect(new Set(passwords.map(([, name]) => name))).toEqual(
      new Set(["POSTGRES_PASSWORD", "POSTGRES_MILLRACE_PASSWORD", "POSTGRES_TEMPORAL_PASSWORD"]),
    );
    for (const [, , otherwise] of passwords) expect(otherwise).toBe(":?Set it in .env (docs/operation.md, Installing)");
    const page = readFileSync(new URL("../../docs/operation.md", import.meta.url), "utf8");
    for (const [, name] of passwords) expect(page).toContain(name);
    // Nor one written out.
    expect(file).not.toMatch(/password: *['"]?\w|:\/\/\w+:\w+@/i);
  });

  it.skipIf(typeof tools !== "string")(
    `has services that are no superusers, and policies hold them${typeof tools === "string" ? "" : `: ${tools.no}`}`,
    async () => {
      const folder = typeof tools === "string" ? tools : "";
      const server = await bareServer("mill'race", await serverForTools(folder));
      onTestFinished(() => server.close());
      const logins = [
        new URL((services["api"]?.environment["DATABASE_URL"] ?? "").replaceAll(/\$\{.*?\}/g, "x")).username,
        services["temporal"]?.environment["POSTGRES_USER"],
      ];
      expect(logins).not.toContain(services["postgres"]?.environment["POSTGRES_USER"]);

      // As the image runs it. This server has no pgvector.
      const sql = (configs["postgres-roles"]?.content ?? "").replace(/^create extension .*vector;$/m, "");
      const set = spawnSync(join(folder, "psql"), ["--no-psqlrc", "--set=ON_ERROR_STOP=1", server.admin], {
        input: sql,
        encoding: "utf8",
        env: { POSTGRES_MILLRACE_PASSWORD: "mill'race", POSTGRES_TEMPORAL_PASSWORD: "temporal" },
      });
      expect([set.status, set.stderr]).toEqual([0, ""]);
      await migrate(server.url, MIGRATIONS);
      const database = openDatabase({
        url: server.url,
        poolSize: 2,
        applicationName: "test",
        onError: () => undefined,
      });
      onTestFinished(() => database.close());
      await database.verify();
      const roles = await database.system((db) =>
        db.query(
          "select rolname, rolsuper or rolbypassrls as exempt, rolcreatedb from pg_roles where rolname = any ($1) order by 1",
          [logins],
        ),
      );
      expect(roles).toEqual([
        { rolname: "millrace", exempt: false, rolcreatedb: false },
        { rolname: "temporal", exempt: false, rolcreatedb: true },
      ]);
    },
  );
});
