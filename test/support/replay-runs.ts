import { Client as Postgres } from "pg";
import { afterAll, expect } from "vitest";
import { LONG } from "./long.ts";
import { takeOrganisations } from "./replayed-organisations.ts";

// A setup file of the service tests: after each file, the histories of its runs are replayed with the same code. The
// test fails if a workflow depends on anything but its history, or if it left a value in plain text in Temporal.

/** Number of runs replayed per file; replays of more would take longer than the tests (a run takes 0.2 s and more). */
const MAX_RUNS = LONG ? 150 : 15;

afterAll(async () => {
  const organisations = takeOrganisations();
  if (organisations.length === 0) return;
  const [{ service }, { historiesOf, inClear, replay, withTemporal }] = await Promise.all([
    import("./service.ts"),
    import("./histories.ts"),
  ]);
  const { databaseUrl, temporalAddress } = service();
  const runs = await runsOf(databaseUrl, organisations);
  const outcome = await withTemporal(temporalAddress, async (client) => {
    const histories = (await Promise.all(runs.map((runId) => historiesOf(client, runId).catch(gone)))).flat();
    return { failures: await replay(histories), clear: histories.flatMap(inClear) };
  });
  expect(outcome).toEqual({ failures: {}, clear: [] });
}, 300_000);

async function runsOf(databaseUrl: string, organisations: readonly string[]): Promise<string[]> {
  const client = new Postgres({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ run_id: string }>(
      // Runs of one version that end alike have the same kind of history.
      `select distinct on (project_id, flow_version, state, resumed_from is null) run_id from runs
        where org_id = any($1) and parent_run_id is null and started_at is not null limit $2`,
      [organisations, MAX_RUNS],
    );
    return rows.map(({ run_id }) => run_id);
  } finally {
    await client.end();
  }
}

/** A run whose workflow was deleted by a test has nothing to replay. */
function gone(error: unknown): [] {
  if (error instanceof Error && error.name === "WorkflowNotFoundError") return [];
  throw error;
}
