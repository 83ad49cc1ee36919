import { Client as Postgres } from "pg";
import { afterAll, expect, inject } from "vitest";
import { client } from "./client.ts";
import { takeMadeOrganisations } from "./made-organisations.ts";

// A setup file of the service tests: disables the monitors of each file after it. In tests every monitor checks for
// runs once a second in its own workflow, and twenty of them used a third of a core until the last file ended.

afterAll(async () => {
  const { service } = inject("millrace");
  const made = takeMadeOrganisations();
  if (service === null || "problem" in service) return;
  const keys = new Map(
    made.filter(({ databaseUrl }) => databaseUrl === service.databaseUrl).map((each) => [each.org_id, each.secretKey]),
  );
  if (keys.size === 0) return;
  const database = new Postgres({ connectionString: service.databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query<{ org_id: string; monitor_id: string }>(
      "select org_id, monitor_id from eval_monitors where enabled and deleted_at is null and org_id = any($1)",
      [[...keys.keys()]],
    );
    for (const { org_id, monitor_id } of rows) {
      const path = `/v2/evals/monitors/${monitor_id}`;
      const { status, body } = await client(service, keys.get(org_id)).patch(path, { enabled: false });
      expect([200, 404], JSON.stringify(body)).toContain(status);
    }
  } finally {
    await database.end();
  }
});
