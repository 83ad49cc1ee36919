import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { importInto, makeDataset, shouting } from "../api/evals/evals.ts";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { millrace } from "./millrace.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-eval-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let tenant: ApiTenant;
let environment: Record<string, string>;

beforeAll(async () => {
  tenant = await openTenant();
  environment = { MILLRACE_URL: tenant.target.url, MILLRACE_API_KEY: tenant.secretKey };
  await tenant.secret.post("/v2/projects", { name: "shout", flow: shouting() });
  const dataset = await makeDataset(tenant, { name: "words" });
  const text = "id,q,a\none,ab,AB\ntwo,cd,CD\nthree,ef,<no>\n";
  const mapping = { inputs: { "in-0": "q" }, expected_outputs: { "out-0": "a" }, external_id: "id" };
  await importInto(tenant, dataset, { source: { type: "csv", text }, mapping });
});

function run(lines: string, ...options: string[]) {
  const file = join(folder, "eval.yaml");
  writeFileSync(file, `name: words\nproject: shout\ndataset: words\n${lines}`);
  return millrace(["eval", "run", file, ...options], environment);
}

const RIGHT = "evaluators: [{ name: right, type: exact_match, config: { ignore_case: false } }]";

describe("millrace eval run", () => {
  it("exits 0 if the gates pass, and compares the scores with the baseline", async () => {
    const gate = "gates: [{ metric: pass_rate, evaluator: right, op: gte, value: 0.6 }]";
    const first = await run(`${RIGHT}\n${gate}\nbaseline: previous\n`);
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining("completed: 3 of 3 rows")]);
    expect(first.stdout).toMatch(/right +3 +0\.6667 .* 66\.7 % +0/);
    expect(first.stdout).toContain("verdict: passed");
    const second = await run(`${RIGHT}\n${gate}\nbaseline: previous\n`);
    expect(second.stdout).toMatch(/right .* 66\.7 % +0 +0 \[0, 0\] +0 +0 +3/);
    const { data } = (await tenant.secret.get("/v2/evals/evaluators")).body;
    expect(data.map((each: { version: number }) => each.version)).toEqual([1]);
  });

  it("exits 1 if a gate fails, with a report of failed rows and gates", async () => {
    const junit = join(folder, "report.xml");
    const gate = "gates: [{ metric: mean, evaluator: right, op: gt, value: 0.9 }]";
    const { code, stdout } = await run(`${RIGHT}\n${gate}\n`, "--junit", junit, "--json");
    expect([code, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ state: "COMPLETED", verdict: "failed" })]);
    const report = readFileSync(junit, "utf8");
    expect(report).toContain('<testsuites tests="4" failures="2" errors="0">');
    expect(report).toMatch(/<testcase classname="rows" name="one" time="[\d.]+"\/>/);
    expect(report).toContain('name="three"');
    expect(report).toContain('<testcase classname="gates" name="mean of right gt 0.9"');
  });

  it("exits 3 if the experiment has no gates, and says so", async () => {
    const { code, stdout, stderr } = await run(`${RIGHT}\n`, "--json");
    expect([code, JSON.parse(stdout)]).toEqual([3, expect.objectContaining({ state: "COMPLETED", verdict: null })]);
    expect(stderr).toContain("nothing was gated: the experiment has no gates");
  });

  it.each([
    ["in a folder that is not there", join(folder, "none", "report.xml")],
    ["a folder", folder],
  ])("starts nothing if the report cannot be written: %s", async (_, junit) => {
    const before = (await tenant.secret.get("/v2/evals/experiments")).body.data;
    const outcome = await run(`${RIGHT}\n`, "--junit", junit);
    expect(outcome).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(`Cannot write --junit ${junit}`),
    });
    expect((await tenant.secret.get("/v2/evals/experiments")).body.data).toEqual(before);
  });

  it("rejects an invalid file, a missing file and an unknown evaluator", async () => {
    expect(await run("gates: 1\n")).toMatchObject({ code: 2, stderr: expect.stringContaining("gates:") });
    expect(await run("evaluators: [none]\n")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("No evaluator is named none"),
    });
    expect(await millrace(["eval", "run", join(folder, "none.yaml")], environment)).toMatchObject({ code: 2 });
  });
});
