import { expect, it } from "vitest";
import { echoFlow } from "../api/echo-flow.ts";
import { openTenant } from "../api/tenant.ts";
import { millrace } from "./millrace.ts";

it("promotes versions between environments, rolls back, and says what is wrong", async () => {
  const tenant = await openTenant();
  const environment = { MILLRACE_URL: tenant.target.url, MILLRACE_API_KEY: tenant.secretKey };
  const project = await tenant.deploy(echoFlow("one") as never);
  await tenant.secret.post(`/v2/projects/${project}/versions`, { flow: echoFlow("two"), publish: false });
  const promote = (...options: string[]) => millrace(["promote", project, ...options], environment);
  expect((await promote("--to", "staging", "--notes", "try")).stdout).toBe("staging: version none -> 2\n");
  expect((await promote("--to", "production", "--from", "staging")).stdout).toBe("production: version 1 -> 2\n");
  const list = await millrace(["environments", project], environment);
  expect(list.stdout).toMatch(/staging +2 .*try\s/);
  expect((await promote("--to", "production", "--rollback")).stdout).toBe("production is back at version 1\n");
  const failures = [
    await promote("--to", "stagin"),
    await promote("--to", "staging", "--from", "development"),
    await promote("--to", "staging", "--version", "x"),
    await promote("--to", "staging", "--connection", "a"),
  ];
  expect(failures.map(({ code }) => code)).toEqual([1, 1, 2, 2]);
  expect(failures[0]?.stderr).toContain("It has development, staging, production.");
});
