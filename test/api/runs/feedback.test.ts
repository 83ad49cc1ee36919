import { beforeAll, expect, it } from "vitest";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";

let mine: ApiTenant;
let path: string;
let run_id: string;
beforeAll(async () => {
  mine = await openTenant();
  const project = await mine.deploy(echo());
  path = `/inference/v0/feedback/${mine.org_id}/${project}`;
  const run = await mine.public.post(`/inference/v0/run/${mine.org_id}/${project}`, { "in-0": "x" });
  ({ run_id } = run.body);
});

const scores = () =>
  mine.withDatabase((database) =>
    database.org(mine.org_id, (db) =>
      db.query(
        "select name, value, number, passed, comment, source from scores where run_id = $1 order by created_at",
        [run_id],
      ),
    ),
  );

it("feedback is stored with the run as a score, once per repeated request", async () => {
  const headers = { "idempotency-key": "a-thumb" };
  const thumb = { run_id, feedback: "negative", comment: "Not at all." };
  const first = await mine.public.post(path, thumb, { headers });
  expect([first.status, first.body]).toMatchObject([200, { run_id, feedback: "negative" }]);
  expect((await mine.public.post(path, thumb, { headers })).body).toEqual(first.body);
  expect((await mine.public.post(path, { run_id, feedback: 0.4 })).status).toBe(200);
  const kept = { name: "feedback", source: "api" };
  expect(await scores()).toEqual([
    { ...kept, value: false, number: 0, passed: false, comment: "Not at all." },
    { ...kept, value: 0.4, number: 0.4, passed: null, comment: null },
  ]);
});

it("feedback is rejected if it is invalid or its run belongs to another flow", async () => {
  const wrong = await mine.public.post(path, { run_id, feedback: "great" });
  expect([wrong.status, wrong.body.detail[0].loc.slice(0, 2)]).toEqual([422, ["body", "feedback"]]);
  const elsewhere = `/inference/v0/feedback/${mine.org_id}/${await mine.deploy(echo())}`;
  expect((await mine.public.post(elsewhere, { run_id, feedback: "positive" })).status).toBe(404);
});
