import { spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually, scratchDirectory } from "../support/scratch.ts";
import { client, createOrganisation, service, type TestOrganisation } from "../support/service.ts";
import { millrace, program } from "./millrace.ts";

const GREETER = {
  schema_version: 1,
  name: "greeter",
  nodes: [
    { id: "in-0", type: "input", config: {} },
    { id: "tpl-0", type: "template", config: { template: "Hello, {{in-0}}!" } },
    { id: "out-0", type: "output", config: {} },
  ],
  edges: [
    { source: "in-0", target: "tpl-0" },
    { source: "tpl-0", target: "out-0" },
  ],
};

function flowFile(flow: object): string {
  const file = join(scratchDirectory(), "flow.json");
  writeFileSync(file, JSON.stringify(flow));
  return file;
}

describe("the command line", () => {
  let organisation: TestOrganisation;
  let environment: Record<string, string>;
  beforeAll(async () => {
    organisation = await createOrganisation(service());
    environment = { MILLRACE_URL: service().url, MILLRACE_API_KEY: organisation.secretKey };
  });

  it("creates an organisation, a user and working keys in the database", async () => {
    const database = { DATABASE_URL: service().databaseUrl };
    const made = await millrace(["orgs", "create", "from the terminal", "--json"], database);
    const { org_id } = JSON.parse(made.stdout) as { org_id: string };
    const user = await millrace(
      ["users", "create", `${org_id}@example.test`, "--role", "admin", "--org", org_id, "--json"],
      database,
    );
    expect(JSON.parse(user.stdout)).toMatchObject({ org_id, role: "admin", password: expect.any(String) });
    const key = await millrace(["keys", "create", "--kind", "secret", "--org", org_id], database);
    const value = key.stdout.trim();
    expect((await client(service(), value).get("/v2/projects")).status).toBe(200);

    const list = await millrace(["keys", "list", "--org", org_id, "--json"], database);
    const [listed] = JSON.parse(list.stdout) as { key_id: string; kind: string }[];
    expect(listed).toMatchObject({ kind: "secret" });
    expect(list.stdout).not.toContain(value);
    const revoked = await millrace(["keys", "revoke", listed?.key_id ?? "", "--org", org_id], database);
    expect(revoked.code).toBe(0);
    expect((await millrace(["keys", "list", "--org", org_id, "--json"], database)).stdout.trim()).toBe("[]");
  });

  it("deploys a flow, creates no version if nothing changed, and runs it node by node", async () => {
    const file = flowFile(GREETER);
    const first = await millrace(["deploy", file, "--project", "greeter-1", "--json"], environment);
    expect(JSON.parse(first.stdout)).toMatchObject({ version: 1, created: true });
    const second = await millrace(["deploy", file, "--project", "greeter-1", "--json"], environment);
    expect(JSON.parse(second.stdout)).toMatchObject({ version: 1, created: false });

    const run = await millrace(["run", "greeter-1", "--input", "in-0=Ada=Lovelace"], environment);
    expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining("Hello, Ada=Lovelace!") });
    expect(run.stderr).toMatch(/✓ tpl-0 \(template\)/);

    const table = await millrace(["runs", "list", "--project", "greeter-1"], environment);
    expect(table.stdout.split("\n")[1]).toMatch(/COMPLETED .* greeter-1$/);
    const runs = await millrace(["runs", "list", "--project", "greeter-1", "--json"], environment);
    const [listed] = JSON.parse(runs.stdout) as { run_id: string; state: string }[];
    expect(listed).toMatchObject({ state: "COMPLETED" });
    const got = await millrace(["runs", "get", listed?.run_id ?? "", "--json"], environment);
    expect(JSON.parse(got.stdout)).toMatchObject({ outputs: { "out-0": "Hello, Ada=Lovelace!" } });
    expect(JSON.parse(got.stdout).nodes).toBeUndefined();
    const shown = await millrace(["runs", "get", listed?.run_id ?? ""], environment);
    expect(shown.stdout).toMatch(/^run \S+\ncreated \S+Z, started \S+Z, finished \S+Z\n/);
    expect(shown.stdout).toMatch(/^tpl-0 +template +COMPLETED +1 +\d+ +\d+$/m);
    expect(shown.stdout).toContain("Hello, Ada=Lovelace!");
    expect(shown.stdout).not.toContain("\u001b");
  });

  it("deploys a flow that contains a credential, but warns about it", async () => {
    const nodes = [
      { id: "in-0", type: "input", config: {} },
      {
        id: "http-0",
        type: "http",
        config: { method: "GET", url: "https://example.test/", headers: { Authorization: "Bearer 123456789" } },
      },
      { id: "out-0", type: "output", config: {} },
    ];
    const edges = [
      { source: "in-0", target: "http-0" },
      { source: "http-0", target: "out-0" },
    ];
    const file = flowFile({ ...GREETER, nodes, edges });
    const shown = await millrace(["deploy", file, "--project", "warned"], environment);
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/^warning: http-0 .*Authorization/) });
    expect(shown.stdout).toContain("warned version 1");
    expect(shown.stdout).not.toContain("123456789");
    const json = await millrace(["deploy", file, "--project", "warned", "--json"], environment);
    expect(JSON.parse(json.stdout).warnings).toEqual([
      expect.objectContaining({ severity: "warning", node_path: "http-0" }),
    ]);
  });

  it("prints its version without a command", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    for (const option of ["--version", "-V"])
      expect(await millrace([option])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  it("lists projects and deletes one", async () => {
    await millrace(["deploy", flowFile(GREETER), "--project", "greeter-3"], environment);
    const listed = await millrace(["projects", "list"], environment);
    const [id = ""] = listed.stdout.match(/^\S+(?= +greeter-3 +1 )/m) ?? [];
    expect((await millrace(["projects", "delete", id], environment)).stdout).toBe(`deleted ${id}\n`);
    expect((await millrace(["projects", "list"], environment)).stdout).not.toContain("greeter-3");
  });

  it("says on Ctrl-C that the run continues, and how to follow it again", async () => {
    const flow = {
      ...GREETER,
      name: "waiter",
      nodes: [GREETER.nodes[0], { id: "delay-0", type: "delay", config: { seconds: 600 } }, GREETER.nodes[2]],
    };
    const edges = [
      { source: "in-0", target: "delay-0" },
      { source: "delay-0", target: "out-0" },
    ];
    await millrace(["deploy", flowFile({ ...flow, edges })], environment);
    const env = { PATH: process.env["PATH"], ...environment };
    const child = spawn(process.execPath, [program, "run", "waiter", "--input", "in-0=x"], { env, cwd: "/" });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    await eventually("it follows the run", () => stderr.includes("delay-0"));
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    const [, run_id = ""] = /The run continues in the background\. Check it: .* runs get (\S+)\n/.exec(stderr) ?? [];
    const api = client(service(), organisation.secretKey);
    expect((await api.get(`/v2/runs/${run_id}`)).body.state).toBe("RUNNING");
    expect(stderr).toContain(`runs cancel ${run_id}`);
    await api.post(`/v2/runs/${run_id}/cancel`, {});
  });

  it("exits with 1 when the run fails, and names the node", async () => {
    const guard = { id: "guard-0", type: "guard", config: { check: "false", message: "Not today." } };
    const flow = { ...GREETER, name: "refuser", nodes: [GREETER.nodes[0], guard, GREETER.nodes[2]] };
    const edges = [
      { source: "in-0", target: "guard-0" },
      { source: "guard-0", target: "out-0" },
    ];
    await millrace(["deploy", flowFile({ ...flow, edges })], environment);
    const run = await millrace(["run", "refuser", "--input", "in-0=x"], environment);
    expect(run.code).toBe(1);
    expect(run.stdout).toContain("FAILED");
    expect(run.stdout).toContain("guard-0: Not today.");
  });

  it("shows a pause with a command for each decision, ready to paste", async () => {
    const form = {
      type: "object",
      properties: {
        name: { type: "string", minLength: 5 },
        day: { type: "string", format: "date" },
        n: { type: "integer", minimum: 3 },
        why: {},
      },
      required: ["name", "day", "n"],
    };
    const approval = { id: "approval-0", type: "approval", config: { message: "May it go?", form } };
    const flow = { ...GREETER, name: "asker", nodes: [GREETER.nodes[0], approval, GREETER.nodes[2]] };
    const edges = [
      { source: "in-0", target: "approval-0" },
      { source: "approval-0", source_handle: "approve", target: "out-0" },
    ];
    await millrace(["deploy", flowFile({ ...flow, edges })], environment);
    for (const answer of ["approve", "reject"]) {
      const run = await millrace(["run", "asker", "--input", "in-0=x"], environment);
      expect([run.code, run.stdout]).toEqual([
        0,
        expect.stringMatching(/^PAUSED[\s\S]*waiting for approval: May it go\?/),
      ]);
      const commands = run.stdout.split("\n").filter((line) => line.includes(" runs resume "));
      expect(commands.map((line) => /--action (\S+)/.exec(line)?.[1])).toEqual(["approve", "reject"]);
      const command = commands.find((line) => line.includes(`--action ${answer}`)) ?? "";
      const pasted = spawnSync("bash", ["-c", command], {
        env: { ...process.env, ...environment },
        cwd: "/",
        encoding: "utf8",
      });
      expect([pasted.status, pasted.stderr]).toEqual([0, ""]);
      const runId = / runs resume (\S+)/.exec(command)?.[1];
      const done = await client(service(), organisation.secretKey).get(`/v2/runs/${runId}`, {
        query: { wait_seconds: 60 },
      });
      expect(done.body).toMatchObject({ state: "COMPLETED", pauses: [{ received: [{ action: answer }] }] });
    }
  });

  it("cancels a run", async () => {
    const flow = {
      ...GREETER,
      name: "sleeper",
      nodes: [GREETER.nodes[0], { id: "delay-0", type: "delay", config: { seconds: 600 } }, GREETER.nodes[2]],
    };
    const edges = [
      { source: "in-0", target: "delay-0" },
      { source: "delay-0", target: "out-0" },
    ];
    const deployed = await millrace(["deploy", flowFile({ ...flow, edges }), "--json"], environment);
    const { project_id } = JSON.parse(deployed.stdout) as { project_id: string };
    const api = client(service(), organisation.secretKey);
    const { body } = await api.post("/v2/runs", { project_id, inputs: { "in-0": "x" } });
    expect(await millrace(["runs", "cancel", body.run_id, "--reason", "enough"], environment)).toMatchObject({
      code: 0,
    });
    const done = await api.get(`/v2/runs/${body.run_id}`, { query: { wait_seconds: 60 } });
    expect(done.body).toMatchObject({ state: "CANCELLED" });
  });

  it("lists the problems of an invalid flow, and exits with 1", async () => {
    const flow = { ...GREETER, edges: [...GREETER.edges, { source: "nobody", target: "out-0" }] };
    const outcome = await millrace(["validate", flowFile(flow)], environment);
    expect(outcome.code).toBe(1);
    expect(outcome.stdout).toContain("nobody");
    expect(await millrace(["validate", flowFile(GREETER)], environment)).toMatchObject({ code: 0 });
  });

  const id = "0197f0a0-0000-7000-8000-000000000001";
  it.each([
    ["an unknown command", ["frobnicate"], "frobnicate"],
    ["a missing argument", ["deploy"], "flow.json"],
    ["a flow that is not there", ["validate", "/no/such/flow.json"], "/no/such/flow.json"],
    ["an input without a value", ["run", "greeter", "--input", "in-0"], "node=value"],
    [
      "an input that is given twice",
      ["run", "greeter", "--input", "in-0=a", "--input", "in-0=b"],
      "in-0 is passed twice",
    ],
    ["an input whose file is not there", ["run", "greeter", "--input", "in-0=@/no/such"], "/no/such"],
    ["a document that is not there", ["run", "greeter", "--file", "doc-0=/no/such"], "Cannot read /no/such: ENOENT"],
    ["a document that is a folder", ["run", "greeter", "--file", "doc-0=/"], "Cannot read /: it is not a file"],
    ["an organisation that is none", ["run", "greeter", "--org", "mine"], "--org"],
    ["a version that is none", ["run", "greeter", "--version", "abc"], "--version"],
    ["a version that cannot be", ["run", "greeter", "--version", "1.5"], "--version"],
    ["an address of the API that is none", ["runs", "list", "--url", "foo"], "--url is not a valid URL"],
    [
      "an address with a password",
      ["runs", "list", "--url", "http://a:sesame@localhost"],
      "--url contains a user name",
    ],
    ["a key that fits into no header", ["runs", "list", "--key", "müll"], "--key"],
    ["a limit that is none", ["runs", "list", "--limit", "many"], "--limit"],
    ["a limit that is too high", ["runs", "list", "--limit", "201"], "1 to 200"],
    ["a state that does not exist", ["runs", "list", "--state", "lost"], "COMPLETED"],
    ["no id of a run", ["runs", "get", ""], "run_id"],
    ["an id of a run that is none", ["runs", "cancel", ".."], "run_id"],
    ["an id of a pause that is none", ["runs", "resume", id, "--pause", "first"], "--pause"],
    ["a form that is no JSON", ["runs", "resume", id, "--data", "{"], "--data"],
  ])("exits with 2 for %s, and names the expected value", async (_, args, message) => {
    const outcome = await millrace(args, environment);
    expect(outcome).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
    expect(outcome.stderr).not.toContain("sesame");
  });

  it.each([
    ["MILLRACE_URL", "localhost", ["runs", "list"]],
    ["MILLRACE_API_KEY", "two words", ["runs", "list"]],
    ["MILLRACE_ORG_ID", "mine", ["run", "greeter"]],
    ["DATABASE_URL", "x", ["orgs", "list"]],
    ["DATABASE_URL", "postgres://localhost:port/x", ["orgs", "list"]],
  ])("names %s if its value is invalid", async (variable, value, args) => {
    const outcome = await millrace(args, { ...environment, [variable]: value });
    expect(outcome).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(`${variable} is not`) });
  });

  it("runs the requested version or environment", async () => {
    await millrace(["deploy", flowFile(GREETER), "--project", "greeter-2"], environment);
    const shout = { id: "tpl-0", type: "template", config: { template: "HELLO, {{in-0}}!" } };
    const second = { ...GREETER, nodes: [GREETER.nodes[0], shout, GREETER.nodes[2]] };
    await millrace(["deploy", flowFile(second), "--project", "greeter-2"], environment);
    await millrace(["promote", "greeter-2", "--to", "staging", "--version", "1"], environment);
    const run = (...args: string[]) => millrace(["run", "greeter-2", "--input", "in-0=Ada", ...args], environment);
    expect((await run("--version", "1")).stdout).toContain("Hello, Ada!");
    expect((await run("--environment", "staging")).stdout).toContain("Hello, Ada!");
    expect((await run("--version", "-1")).stdout).toContain("HELLO, Ada!");
  });

  it("uploads a document for a run", async () => {
    const files = { id: "doc-0", type: "files", config: {} };
    const flow = { ...GREETER, name: "reader", nodes: [files, GREETER.nodes[2]] };
    await millrace(["deploy", flowFile({ ...flow, edges: [{ source: "doc-0", target: "out-0" }] })], environment);
    const document = join(scratchDirectory(), "letter.txt");
    writeFileSync(document, "Dear Ada");
    const run = await millrace(
      ["run", "reader", "--file", `doc-0=${document}`, "--org", organisation.org_id],
      environment,
    );
    expect(run).toMatchObject({ code: 0, stderr: expect.stringContaining("uploaded letter.txt (8 bytes) for doc-0") });

    const second = join(scratchDirectory(), "postcard.txt");
    writeFileSync(second, "Dear Bob");
    const handle = ["--user", "ada-1", "--org", organisation.org_id];
    const both = await millrace(
      ["run", "reader", "--file", `doc-0=${document}`, "--file", `doc-0=${second}`, ...handle],
      environment,
    );
    expect([both.code, both.stdout]).toEqual([0, expect.stringMatching(/Dear Ada[^]*Dear Bob|Dear Bob[^]*Dear Ada/)]);
    const documents = (...args: string[]) => millrace(["documents", ...args, "reader", ...handle], environment);
    expect((await documents("list")).stdout.match(/\w+\.txt/g)?.toSorted()).toEqual(["letter.txt", "postcard.txt"]);
    expect((await documents("delete", "--name", "letter.txt")).stdout).toBe("deleted letter.txt\n");
    expect((await documents("list")).stdout.match(/\w+\.txt/g)).toEqual(["postcard.txt"]);
    expect((await documents("delete")).code).toBe(0);
    expect((await documents("list")).stdout).not.toContain("postcard");
  });

  it("names the URL it tried if no server responds, without a stack trace", async () => {
    const outcome = await millrace(["runs", "list"], { MILLRACE_URL: "http://127.0.0.1:9", MILLRACE_API_KEY: "x" });
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toContain("Cannot connect to http://127.0.0.1:9");
    expect(outcome.stderr).not.toContain("    at ");
  });
});
