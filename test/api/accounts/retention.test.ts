import { afterAll, beforeAll, expect, it } from "vitest";
import { createOrganisation } from "../../support/service.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";

const PATH = "/v2/retention";
let mine: ApiTenant;
let bounded: InProcessApi;
beforeAll(async () => {
  [mine, bounded] = await Promise.all([openTenant(), startInProcess({ env: { MILLRACE_RUN_RETENTION_DAYS: "30" } })]);
});
afterAll(() => bounded?.close());

const policy = (run_days: number | null, max_run_days: number | null, effective_run_days: number | null) => ({
  run_days,
  max_run_days,
  effective_run_days,
});

it("can be set for the organisation and for a project, within the limit above it", async () => {
  const org = await createOrganisation(bounded);
  const api = checkedClient(bounded, org.secretKey);
  const { body: project } = await api.post("/v2/projects", { name: "P" });
  const ofProject = `/v2/projects/${project.project_id}/retention`;
  expect((await api.get(PATH)).body).toEqual(policy(null, 30, 30));
  expect((await api.get(ofProject)).body).toEqual(policy(null, 30, 30));
  const tooMany = await api.patch(PATH, { run_days: 31 });
  expect([tooMany.status, tooMany.body.detail[0].loc]).toEqual([422, ["body", "run_days"]]);
  expect(tooMany.body.detail[0].msg).toContain("at most 30 days");
  expect((await api.patch(PATH, { run_days: 20 })).body).toEqual(policy(20, 30, 20));
  expect((await api.patch(ofProject, { run_days: 21 })).status).toBe(422);
  expect((await api.patch(ofProject, { run_days: 20 })).body).toEqual(policy(20, 20, 20));
  // A project may keep more days than its organisation; the smaller number applies.
  expect((await api.patch(PATH, { run_days: 7 })).status).toBe(200);
  expect((await api.get(ofProject)).body).toEqual(policy(20, 7, 7));
  expect((await api.patch(PATH, { run_days: null })).body).toEqual(policy(null, 30, 30));
  expect((await api.get(ofProject)).body).toEqual(policy(20, 30, 20));
  // Clearing the days of one policy leaves the other unchanged.
  expect((await api.patch(PATH, { run_days: 25 })).status).toBe(200);
  expect((await api.patch(ofProject, { run_days: null })).body).toEqual(policy(null, 25, 25));
  expect((await api.get(PATH)).body).toEqual(policy(25, 30, 25));
  expect((await api.patch(PATH, {})).body).toEqual(policy(25, 30, 25));
  // An organisation without limits, which has set no days.
  expect((await mine.secret.get(PATH)).body).toEqual(policy(null, null, null));
});

it("can be changed only by admins with a current ETag, and never for another organisation", async () => {
  const other = await openTenant();
  const project = await mine.deploy(echo());
  const ofProject = `/v2/projects/${project}/retention`;
  expect((await mine.secret.patch(PATH, { run_days: 0 })).status).toBe(422);
  expect((await mine.secret.patch(PATH, { run_days: 1, more: 1 })).status).toBe(422);
  const editor = await mine.user("editor");
  for (const path of [PATH, ofProject]) {
    expect((await editor.get(path)).status).toBe(200);
    expect((await editor.patch(path, { run_days: 1 })).status).toBe(403);
    expect((await mine.public.get(path)).status).toBe(403);
    const { headers } = await mine.secret.get(path);
    const seen = { headers: { "if-match": headers.get("etag") ?? "" } };
    expect((await mine.secret.patch(path, { run_days: 90 }, seen)).status).toBe(200);
    expect((await mine.secret.patch(path, { run_days: 80 }, seen)).status).toBe(412);
  }
  expect((await other.secret.get(ofProject)).status).toBe(404);
  expect((await other.secret.patch(ofProject, { run_days: 1 })).status).toBe(404);
  expect((await other.secret.get(PATH)).body.run_days).toBeNull();
  const { body: log } = await mine.secret.get("/v2/audit-log", { query: { target: project } });
  expect(log.data).toContainEqual(
    expect.objectContaining({
      operation: "changeProjectRetention",
      changes: expect.objectContaining({ run_days: { before: null, after: 90 } }),
    }),
  );
});
