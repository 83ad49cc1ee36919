import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { EventEnvelope } from "../../src/domain/webhooks/events.ts";
import { echoFlow } from "../api/echo-flow.ts";
import { startInProcess } from "../api/in-process.ts";
import { startHttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { client, createOrganisation, service } from "../support/service.ts";
import { millrace, program } from "./millrace.ts";

interface Line {
  readonly verified: boolean;
  readonly problem: string | null;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: EventEnvelope;
}

let environment: Record<string, string>;
let api: ReturnType<typeof client>;
let projectId = "";
beforeAll(async () => {
  const organisation = await createOrganisation(service());
  environment = { MILLRACE_URL: service().url, MILLRACE_API_KEY: organisation.secretKey };
  api = client(service(), organisation.secretKey);
  projectId = (await api.post("/v2/projects", { name: "echo", flow: echoFlow() })).body.project_id;
});

it("deletes a subscription", async () => {
  const body = { url: "https://example.com/hooks", events: ["*"] };
  const { subscription_id: id } = (await api.post("/v2/webhooks/subscriptions", body)).body;
  expect((await millrace(["webhooks", "delete", id], environment)).stdout).toBe(`deleted ${id}\n`);
  expect((await api.get(`/v2/webhooks/subscriptions/${id}`)).status).toBe(404);
});

/** Runs a flow; returns the ID of the finished run. */
async function run(): Promise<string> {
  const { body } = await api.post("/v2/runs", { project_id: projectId, inputs: { "in-0": "Ada" } });
  await api.get(`/v2/runs/${body.run_id}`, { query: { wait_seconds: 60 } });
  return body.run_id;
}

/** Starts `millrace webhooks listen` and waits until it has subscribed. */
async function listen(...args: string[]) {
  const env = { PATH: process.env["PATH"], ...environment };
  const child = spawn(process.execPath, [program, "webhooks", "listen", ...args], { env, cwd: "/" });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const [, url = "", subscription = ""] = await eventually(
    "the listener has subscribed",
    () => /(http:\S+) receives .* as webhook (\S+)\./.exec(stderr) ?? undefined,
  );
  return {
    url,
    subscription,
    lines: () => stdout.split("\n").filter((line) => line !== ""),
    stderr: () => stderr,
    stop(signal: NodeJS.Signals = "SIGINT") {
      child.kill(signal);
      return ended;
    },
    /** Closes the output, as `| head` does when it has enough lines. */
    stopReading() {
      child.stdout.destroy();
      return ended;
    },
  };
}

async function subscriptions(): Promise<Array<{ subscription_id: string; status: string; url: string }>> {
  return JSON.parse((await millrace(["webhooks", "list", "--json"], environment)).stdout);
}

describe("millrace webhooks listen", () => {
  it("subscribes, prints and verifies deliveries, and unsubscribes at Ctrl-C", async () => {
    const listener = await listen("--events", "run.started,run.completed", "--json");
    expect(await subscriptions()).toMatchObject([
      { subscription_id: listener.subscription, url: listener.url, status: "enabled" },
    ]);
    const runId = await run();
    const lines = await eventually("both events", () => {
      const all = listener.lines().map((line) => JSON.parse(line) as Line);
      return all.length === 2 && all;
    });
    expect(lines.map(({ body }) => body.type).toSorted()).toEqual(["run.completed", "run.started"]);
    for (const { headers, body, ...rest } of lines) {
      expect(rest).toMatchObject({ verified: true, problem: null, status: 204 });
      expect(body.data["run_id"]).toBe(runId);
      expect(headers["webhook-id"]).toBe(body.id);
    }
    expect(await listener.stop()).toBe(0);
    expect(listener.stderr()).toContain(`Webhook ${listener.subscription} deleted.`);
    expect(await subscriptions()).toEqual([]);
  });

  it("returns 400 for an unsigned request, says why, and prints none of its content", async () => {
    const listener = await listen();
    const forged = await fetch(listener.url, { method: "POST", body: '{"type":"run.forged"}' });
    expect(forged.status).toBe(400);
    const headers = {
      "webhook-id": "evt_forged",
      "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
      "webhook-signature": "v1,AAAA",
    };
    expect((await fetch(listener.url, { method: "POST", body: "{}", headers })).status).toBe(400);
    expect((await fetch(listener.url)).status).toBe(405);
    await run();
    await eventually("two events", () => listener.lines().length === 4);
    const [missing, wrong, ...good] = listener.lines();
    expect(missing).toContain("✗ 400 not verified: a webhook header is missing");
    expect(wrong).toContain("✗ 400 not verified: no signature matches the secret");
    for (const line of good) expect(line).toMatch(/✓ 204 run\.(started|completed) evt_\S+ run \S+$/);
    expect(listener.lines().join()).not.toContain("forged");
    expect(await listener.stop()).toBe(0);
  });

  it("unsubscribes when its terminal or its output pipe is closed", async () => {
    const closed = await listen();
    expect(await closed.stop("SIGHUP")).toBe(0);
    const piped = await listen("--events", "run.started");
    const ended = piped.stopReading();
    await run();
    expect(await ended).toBe(0);
    expect(await subscriptions()).toEqual([]);
  });

  it("forwards verified deliveries, and returns the target's response", async () => {
    const target = await startHttpTarget();
    onTestFinished(() => target.close());
    target.on("/hooks", (_, response) => void response.writeHead(target.hits("/hooks") === 1 ? 200 : 503).end());
    const listener = await listen("--forward", `${target.url}/hooks`);
    expect((await fetch(listener.url, { method: "POST", body: "{}" })).status).toBe(400);
    const test = `/v2/webhooks/subscriptions/${listener.subscription}/test`;
    await api.post(test, {});
    await eventually("the first", () => listener.lines().length === 2);
    await api.post(test, {});
    await eventually("the second", () => listener.lines().length === 3);
    const [, first, second] = listener.lines();
    expect(first).toContain("✓ 200 webhook.test");
    expect(second).toMatch(/✓ 503 webhook\.test evt_\S+: \S+ returned status 503$/);
    expect(target.hits("/hooks")).toBe(2);
    expect(target.requests[0]?.headers["webhook-signature"]).toMatch(/^v1,/);
    expect(await listener.stop()).toBe(0);
  });

  it("names the setting to change if the server allows no private addresses, and exits with 1", async () => {
    const strict = await startInProcess({ env: { MILLRACE_PRIVATE_HOSTS: "" } });
    onTestFinished(() => strict.close());
    const { secretKey } = await createOrganisation(strict);
    const outcome = await millrace(["webhooks", "listen"], { MILLRACE_URL: strict.url, MILLRACE_API_KEY: secretKey });
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toContain("MILLRACE_PRIVATE_HOSTS=loopback");
    expect(outcome.stderr).toContain("body.url");
  }, 60_000);

  it("reports a port that is in use, and creates no subscription", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = String(typeof address === "object" ? address?.port : 0);
    const outcome = await millrace(["webhooks", "listen", "--port", port], environment);
    expect(outcome).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("EADDRINUSE") });
    expect(await subscriptions()).toEqual([]);
  });
});

describe("millrace webhooks", () => {
  /** Creates a webhook for run events and waits until the events of one run are delivered. */
  async function delivered() {
    const target = await startHttpTarget();
    onTestFinished(() => target.close());
    const { body: made } = await api.post("/v2/webhooks/subscriptions", { url: target.url, events: ["run.*"] });
    const path = `/v2/webhooks/subscriptions/${made.subscription_id}`;
    onTestFinished(async () => void (await api.delete(path)));
    const runId = await run();
    const done = { query: { status: "delivered" } };
    await eventually("both", async () => (await api.get(`${path}/deliveries`, done)).body.data.length === 2);
    return { id: made.subscription_id as string, secret: made.secret as string, since: made.created_at, target, runId };
  }

  it("lists subscriptions and their deliveries", async () => {
    const { id, secret, target } = await delivered();
    const deliveries = async (...args: string[]): Promise<Array<{ event_id: string }>> =>
      JSON.parse((await millrace(["webhooks", "deliveries", id, "--json", ...args], environment)).stdout);
    const [completed, ...others] = await deliveries("--event", "run.completed", "--since", "1h");
    expect(others).toEqual([]);
    expect(completed).toMatchObject({ event_type: "run.completed", status: "delivered", attempts: 1 });
    expect(await deliveries("--event", completed?.event_id ?? "", "--status", "delivered")).toEqual([completed]);
    expect(await deliveries("--limit", "1")).toHaveLength(1);

    const list = await millrace(["webhooks", "list"], environment);
    expect(list.stdout).toMatch(new RegExp(`^WEBHOOK .*\n${id} +enabled .* run\\.\\* +${target.url}`));
    expect(list.stdout).not.toContain(secret);
    const shown = await millrace(["webhooks", "deliveries", id], environment);
    expect(shown.stdout).toMatch(/run\.completed +delivered +1 /);
  });

  it("lists only failing subscriptions with the filter", async () => {
    const { id } = await delivered();
    const target = await startHttpTarget();
    onTestFinished(() => target.close());
    target.on("/broken", (_, response) => void response.writeHead(500).end());
    const wanted = { url: `${target.url}/broken`, events: ["run.*"] };
    const { body: broken } = await api.post("/v2/webhooks/subscriptions", wanted);
    const path = `/v2/webhooks/subscriptions/${broken.subscription_id}`;
    onTestFinished(async () => void (await api.delete(path)));
    await run();
    await eventually("it is failing", async () => (await api.get(path)).body.failing_since !== null);
    const all = (await subscriptions()).map(({ subscription_id }) => subscription_id);
    expect(all).toEqual([broken.subscription_id, id]);
    const { stdout } = await millrace(["webhooks", "list", "--failing", "--json"], environment);
    expect(JSON.parse(stdout)).toMatchObject([{ subscription_id: broken.subscription_id }]);
  });

  it("replays the events of a time range", async () => {
    const { id, since, target, runId } = await delivered();
    // Not an hour ago, because a replay also sends events from before the webhook was created.
    const replay = ["webhooks", "replay", id, "--since", since];
    const nothing = await millrace([...replay, "--only-failed"], environment);
    expect(nothing).toMatchObject({ code: 0, stdout: expect.stringMatching(/^replay \S+: events from \S+ to \S+\n/) });
    const again = await millrace([...replay, "--events", "run.completed", "--json"], environment);
    expect(JSON.parse(again.stdout)).toMatchObject({ subscription_id: id, events: ["run.completed"] });
    await eventually("it came again", () => target.requests.length === 3);
    const events = target.requests.map(({ body }) => JSON.parse(body) as EventEnvelope);
    expect(events.map(({ type }) => type).toSorted()).toEqual(["run.completed", "run.completed", "run.started"]);
    expect(new Set(target.requests.map(({ headers }) => headers["webhook-id"])).size).toBe(2);
    expect(events.every(({ data }) => data["run_id"] === runId)).toBe(true);
  });

  const id = "0197f0a0-0000-7000-8000-000000000001";
  it.each([
    ["an id that is none", ["deliveries", "mine"]],
    ["a status that does not exist", ["deliveries", id, "--status", "lost"]],
    ["an event that does not exist", ["deliveries", id, "--event", "run.exploded"]],
    ["a limit that is none", ["deliveries", id, "--limit", "0"]],
    ["a time that is none", ["deliveries", id, "--since", "yesterday"]],
    ["a time without a zone", ["deliveries", id, "--since", "2030-01-31T00:00:00"]],
    ["a replay without a beginning", ["replay", id]],
    ["a replay that ends before it begins", ["replay", id, "--since", "1h", "--until", "2h"]],
    ["a replay of what does not exist", ["replay", id, "--since", "1h", "--events", "run.*,nothing"]],
    ["a port that is none", ["listen", "--port", "70000"]],
    ["an address that is none", ["listen", "--forward", "localhost:3000"]],
    ["an address with a password", ["listen", "--forward", "http://a:b@localhost/"]],
  ])("exits with 2 for %s", async (_, args) => {
    expect(await millrace(["webhooks", ...args], environment)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/\S/),
    });
  });

  it("exits with 1 if the subscription does not exist", async () => {
    const outcome = await millrace(["webhooks", "deliveries", id], environment);
    expect(outcome).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("404") });
  });
});
