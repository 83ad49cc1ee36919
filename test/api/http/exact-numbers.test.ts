import { beforeAll, describe, expect, it } from "vitest";
import { asking, echo, openTenant, type ApiTenant } from "../tenant.ts";
import { importInto } from "../evals/evals.ts";
import type { Answer } from "../../support/client.ts";

const BIG = "12345678901234567890";
/** The text of a body with numbers that JSON.parse would change and JSON.stringify cannot write. */
const NUMBERS = `{"id":${BIG},"least":-9007199254740993,"huge":1e400,"safe":9007199254740991,"part":0.1,"text":"\\"${BIG}"}`;
const KEPT = {
  id: BIG,
  least: "-9007199254740993",
  huge: "1e400",
  safe: 9_007_199_254_740_991,
  part: 0.1,
  text: `"${BIG}`,
};
const options = { headers: { "content-type": "application/json" } };
let tenant: ApiTenant;
let project_id: string;

beforeAll(async () => {
  tenant = await openTenant();
  project_id = await tenant.deploy(echo());
});

const post = (path: string, text: string): Promise<Answer> => tenant.secret.post(path, text, options);

describe("a number in a request that a double cannot hold", () => {
  it("keeps all its digits in the metadata of a run, also in a long body", async () => {
    const create = (long: string) =>
      post("/v2/runs", `{"project_id":"${project_id}","metadata":${NUMBERS},"inputs":{"in-0":"${long}"}}`);
    const { status, body } = await create("a");
    expect([status, body.metadata]).toEqual([201, KEPT]);
    expect((await create(`${"e123 \\\\".repeat(80_000)}`)).body.metadata).toEqual(KEPT);
  });

  it("keeps all its digits in the answer to a pause", async () => {
    const started = await tenant.secret.post("/v2/runs", { project_id: await tenant.deploy(asking()), inputs: {} });
    const { run_id } = started.body;
    await tenant.until(run_id, "PAUSED");
    await post(`/v2/runs/${run_id}/resume`, `{"action":"approve","data":{"id":${BIG}}}`);
    expect((await tenant.until(run_id, "COMPLETED")).outputs["out-0"]).toContain(`"id":"${BIG}"`);
  });

  it("keeps all its digits in dataset rows, written or imported", async () => {
    const { dataset_id } = (await tenant.secret.post("/v2/evals/datasets", { name: "Numbers" })).body;
    const path = `/v2/evals/datasets/${dataset_id}/rows`;
    const { body } = await post(path, `{"inputs":{"in-0":"a"},"expected_outputs":{"out-0":${NUMBERS}}}`);
    expect(body.expected_outputs["out-0"]).toEqual(KEPT);
    const line = `{"inputs":{"in-0":"b"},"metadata":{"id":${BIG}}}`;
    await importInto(tenant, dataset_id, { source: { type: "jsonl", text: line } });
    const rows = await tenant.secret.get(path, { query: { order: "asc" } });
    expect(rows.body.data[1].metadata).toEqual({ id: BIG });
  });

  it("keeps all its digits in the payload of an inbound webhook", async () => {
    const { body: trigger } = await tenant.secret.post("/v2/triggers", {
      project_id,
      provider_id: "millrace",
      trigger_id: "webhook",
      config: {},
      inputs: { "in-0": "payload.body.id" },
    });
    const { status, body } = await post(new URL(trigger.address, tenant.target.url).pathname, NUMBERS);
    expect(status).toBe(202);
    expect((await tenant.until(body.run_id, "COMPLETED")).outputs).toEqual({ "out-0": BIG });
  });

  it("is rejected if a number is required, and changes nothing if only text is accepted", async () => {
    const { status, body } = await post(
      "/v2/runs",
      `{"project_id":"${project_id}","inputs":{},"timeout_seconds":1e400}`,
    );
    expect([status, body.detail.map((each: { loc: unknown }) => each.loc)]).toEqual([
      422,
      [["body", "timeout_seconds"]],
    ]);
    const started = await post("/v2/runs", `{"project_id":"${project_id}","inputs":{"in-0":"a"}}`);
    const { run_id } = await tenant.until(started.body.run_id, "COMPLETED");
    for (const number of [BIG, "1e400", "5"]) {
      const inputs = `"inputs":{"in-0":${number}}`;
      for (const refused of [
        await post("/v2/runs", `{"project_id":"${project_id}",${inputs},"metadata":${NUMBERS}}`),
        await post(`/v2/runs/${run_id}/resume`, `{"from_node":"out-0",${inputs}}`),
      ])
        expect([number, refused.status, refused.body.detail?.map((each: { loc: unknown }) => each.loc)]).toEqual([
          number,
          422,
          [["body", "inputs", "in-0"]],
        ]);
    }
    const path = `/inference/v0/run/${tenant.org_id}/${project_id}`;
    expect((await post(path, `{"in-0":${BIG}}`)).status).toBe(422);
    expect((await post(path, `{"in-0":"a","trace":${BIG}}`)).status).toBe(200);
  });
});
