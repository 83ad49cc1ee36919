import { spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { startPostgres, type RunningPostgres } from "../../src/dev/postgres.ts";

/** Creates a streaming replica of the server in the folder `from`, in the folder `to`, and starts it on its own port. */
export async function startStandby(primary: RunningPostgres, from: string, to: string): Promise<RunningPostgres> {
  const client = new Client({ connectionString: primary.url });
  await client.connect();
  try {
    await client.query("select pg_backup_start('standby', true)");
    mkdirSync(to, { mode: 0o711 });
    const data = join(to, "data");
    // The copy keeps the owner, because Postgres runs as another user under root.
    copy(join(from, "password"), join(to, "password"));
    copy(join(from, "data"), data);
    rmSync(join(data, "postmaster.pid"), { force: true });
    const { rows } = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)");
    for (const [file, text] of [
      ["backup_label", rows[0]?.labelfile ?? ""],
      ["standby.signal", ""],
    ] as const) {
      copy(join(data, "PG_VERSION"), join(data, file));
      writeFileSync(join(data, file), text);
    }
    const { hostname, port, username, password } = new URL(primary.url);
    const conninfo = `host=${hostname} port=${port} user=${username} password=${password}`;
    appendFileSync(join(data, "postgresql.auto.conf"), `primary_conninfo = '${conninfo}'\n`);
  } finally {
    await client.end();
  }
  return startPostgres({ dir: to, durable: false });
}

function copy(from: string, to: string): void {
  // Files of a running server may disappear while they are copied.
  const { error } = spawnSync("cp", ["-a", from, to]);
  if (error) throw error;
}
