import { expect, it } from "vitest";
import { echo, openTenant } from "../api/tenant.ts";
import { millrace } from "./millrace.ts";

it("creates triggers of each type, lists and deletes them", async () => {
  const tenant = await openTenant();
  const environment = { MILLRACE_URL: tenant.target.url, MILLRACE_API_KEY: tenant.secretKey };
  const project = await tenant.deploy(echo());
  const create = (...options: string[]) => millrace(["triggers", "create", project, ...options], environment);
  await tenant.secret.put(`/v2/projects/${project}/environments/staging`, { version: 1 });
  const input = ["--input", "in-0=payload.scheduled_at"];
  const cron = await create(
    "--cron",
    "0 9 * * mon-fri",
    "--time-zone",
    "Europe/Berlin",
    "--environment",
    "staging",
    ...input,
  );
  expect([cron.code, cron.stdout], cron.stderr).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36} {2}schedule\n$/)]);
  const hook = await create("--webhook", "github", "--secret", "a long secret", "--input", "in-0=payload.body");
  expect(hook.stdout).toMatch(/shown only now: http\S+\/hooks\/\S{43}/);
  const after = await create("--after", project, "--input", "in-0=payload.state");
  const changed = await create(
    "--changed",
    "https://example.com/",
    "--every",
    "10",
    "--path",
    "$.a",
    "--input",
    "in-0=payload.value",
  );
  expect([after.code, changed.code], after.stderr + changed.stderr).toEqual([0, 0]);
  const list = await millrace(["triggers", "list"], environment);
  expect(list.stdout.match(/\b(schedule|webhook|run_event|http\.changed)\b/g)).toEqual([
    "http.changed",
    "run_event",
    "webhook",
    "schedule",
  ]);
  expect(list.stdout).toMatch(/ENVIRONMENT/);
  expect(list.stdout.match(/\b(staging|production)\b/g)).toEqual(["production", "production", "production", "staging"]);
  const [hookId = ""] = hook.stdout.split(" ");
  const noneYet = await millrace(["triggers", "firings", hookId, "--state", "failed"], environment);
  expect([noneYet.code, noneYet.stdout]).toEqual([0, expect.stringMatching(/FIRING +AT +STATE +RUN +ERROR/)]);
  const missing = await millrace(["triggers", "repeat", hookId, hookId], environment);
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("firing")]);
  const [id = ""] = cron.stdout.split(" ");
  expect(await millrace(["triggers", "delete", id], environment)).toMatchObject({ code: 0, stdout: `deleted ${id}\n` });
  expect((await millrace(["triggers", "list"], environment)).stdout).not.toContain(id);
  expect((await millrace(["triggers", "delete", id], environment)).code).toBe(1);
  const [none, both, bad] = [
    await create(),
    await create("--cron", "@daily", "--after", project),
    await create("--cron", "x"),
  ];
  expect([none.code, both.code, bad.code]).toEqual([2, 2, 1]);
  expect(bad.stderr).toContain("body.config.cron");
});
