import { beforeAll, expect, it } from "vitest";
import { BLOB_COLUMNS, BLOB_KEY_PATTERN, keysIn } from "../../../src/stores/system/blob-sweep.ts";
import { importInto, makeDataset } from "../../api/evals/evals.ts";
import { create } from "../../api/knowledge/bases.ts";
import { openTenant, type ApiTenant } from "../../api/tenant.ts";
import { edges, flow, node } from "../../support/flows.ts";

let tenant: ApiTenant;
const LONG = "long ".repeat(40_000);
const large = { template: "{{in-0}} {{in-0}}" };

// Every column that can hold a reference should hold one here: values of runs, failed runs, pauses, documents, stored responses.
beforeAll(async () => {
  tenant = await openTenant();
  const { secret } = tenant;
  const run = async (definition: ReturnType<typeof flow>, state: string) => {
    const project_id = await tenant.deploy(definition);
    const { body } = await secret.post("/v2/runs", { project_id, inputs: { "in-0": LONG } });
    await tenant.until(body.run_id, state);
  };
  const whole = flow({
    nodes: [node("in-0", "input"), node("tpl-0", "template", large), node("out-0", "output")],
    edges: edges("in-0 > tpl-0 > out-0"),
  });
  await run(whole, "COMPLETED");
  const failing = flow({
    nodes: [
      node("in-0", "input"),
      node("tpl-0", "template", large),
      node("guard-0", "guard", { check: "false", message: "{{tpl-0}}" }),
      node("out-0", "output"),
    ],
    edges: edges("in-0 > tpl-0 > guard-0 > out-0"),
  });
  await run(failing, "FAILED");
  const asking = flow({
    nodes: [
      node("in-0", "input"),
      node("tpl-0", "template", large),
      node("ask-0", "approval", { message: "?" }),
      node("out-0", "output"),
    ],
    edges: edges("in-0 > tpl-0 > ask-0:approve > out-0"),
  });
  await run(asking, "PAUSED");
  const base = await create(tenant);
  const form = new FormData();
  form.set("file", new Blob(["text"], { type: "text/plain" }), "a.txt");
  expect((await secret.post(`${base.path}/resources`, form)).status).toBe(202);
});

it("the blob sweep reads every column that holds blob keys", async () => {
  const registered = new Set(BLOB_COLUMNS.map(({ table, column }) => `${table}.${column}`));
  await tenant.withDatabase(async (database) => {
    const query = <Row extends Record<string, unknown>>(sql: string, values: unknown[] = []) =>
      database.system((db) => db.query<Row>(sql, values));
    const columns = await query<{ name: string; table: string; column: string }>(
      `select c.table_name || '.' || c.column_name as name, c.table_name as table, c.column_name as column
       from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
       where c.table_schema = current_schema() and t.table_type = 'BASE TABLE' and c.data_type in ('text', 'jsonb')
         and not (select relispartition from pg_class where oid = c.table_name::regclass)`,
    );
    const holding = new Set<string>();
    for (const { name, table, column } of columns) {
      const [found] = await query(`select from ${table} where ${column}::text ~ $1 limit 1`, [BLOB_KEY_PATTERN]);
      if (found !== undefined || column.includes("blob")) holding.add(name);
    }
    // Blobs that an erasure is about to delete need not be kept.
    holding.delete("erasure_blobs.key");
    expect([...holding].filter((name) => !registered.has(name))).toEqual([]);
    // Conversely, every registered column exists, and the rows above cover the JSON columns of runs.
    const names = columns.map(({ name }) => name);
    expect([...registered].filter((name) => !names.includes(name))).toEqual([]);
    const expected = ["runs.inputs", "runs.outputs", "run_checkpoints.nodes", "node_runs.long_values"];
    expect([...expected, "knowledge_resources.blob_key"].filter((name) => !holding.has(name))).toEqual([]);
  });
});

it("the file of an import is kept until the import ends", async () => {
  const dataset = await makeDataset(tenant, { name: "words" });
  const text = "q,a\nab,AB\n";
  const mapping = { inputs: { "in-0": "q" }, expected_outputs: { "out-0": "a" } };
  await importInto(tenant, dataset, { source: { type: "csv", text }, mapping });
  const column = BLOB_COLUMNS.find(({ table }) => table === "eval_imports");
  await tenant.withDatabase((database) =>
    database.systemTransaction(async (db) => {
      const needed = async (status: string): Promise<number> => {
        await db.query("update eval_imports set status = $1 where org_id = $2", [status, tenant.org_id]);
        const keys = await db.query<Record<string, string>>(column === undefined ? "" : keysIn(column));
        return keys.flatMap((row) => Object.values(row)).filter((key) => key.startsWith(tenant.org_id)).length;
      };
      // These states are visible in this transaction only.
      expect([await needed("pending"), await needed("running"), await needed("completed")]).toEqual([1, 1, 0]);
    }),
  );
});
