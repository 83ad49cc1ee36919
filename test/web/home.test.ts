import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startModelStub } from "../../src/dev/model-stub.ts";
import { asking, echo, failing, openTenant, slow } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { startHttpTarget } from "../support/http-target.ts";
import { address, signedIn, text, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

/** Interval at which Home refreshes. */
const LOOKS_AGAIN_MS = 10_000;

useConsole();

describe("home", () => {
  it("shows an admin the queues, with links to the waiting work", async () => {
    const { page } = await signedIn(browser, tenant, "admin");
    const queues = page.getByRole("region", { name: "Queues", exact: true });
    await queues.waitFor();
    expect(await queues.locator("tbody tr").count()).toBe(6);
    await expect.poll(() => queues.getByText("None").count(), { timeout: 30_000 }).toBe(0);
    await page.getByRole("link", { name: /^Waiting for a worker/ }).waitFor();
    await queues.getByRole("link", { name: "Runs", exact: true }).click();
    await page.waitForURL(address(tenant, "/runs?state=PENDING&state=RUNNING&state=RESUMED"));
    for (const name of ["Documents", "Syncs, experiments, bulk run jobs"]) {
      await page.goBack();
      await queues.getByRole("link", { name, exact: true }).click();
      await page.waitForURL(address(tenant, "/background"));
      await page.getByRole("heading", { name: "Background work" }).waitFor();
    }
  });

  it("hides the queues from an editor, because all organisations share them", async () => {
    const { page } = await signedIn(browser, tenant, "editor");
    await page.getByRole("heading", { name: "Runs created" }).waitFor();
    await page.getByRole("heading", { name: "Stuck", exact: true }).waitFor();
    expect(await page.getByRole("heading", { name: "Queues and workers" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: /^Waiting for a worker/ }).count()).toBe(0);
  });

  it("sums model costs over the selected time range, and shows the value of the highest bar", async () => {
    const own = await openTenant();
    const project_id = await own.deploy(echo());
    for (const text of ["x", "y"])
      await own.secret.post("/v2/runs", { project_id, inputs: { "in-0": text }, mode: "sync" });
    // One bar, even if an hour ends between the two.
    await own.withDatabase((database) =>
      database.system((db) =>
        db.query("update runs set created_at = now() - interval '2 hours' where org_id = $1::uuid", [own.org_id]),
      ),
    );
    const { page } = await signedIn(browser, own, "viewer");
    await page.getByRole("heading", { name: "Model usage, last 24 hours" }).waitFor();
    await page.getByRole("figure").getByText("Highest bar: 2", { exact: true }).waitFor();
    const asked = page.waitForRequest((request) => request.url().includes("/v2/usage?"));
    await page.getByRole("combobox", { name: "Time range" }).selectOption("168");
    const from = new URL((await asked).url()).searchParams.get("from") ?? "";
    await page.getByRole("heading", { name: "Model usage, last 7 days" }).waitFor();
    const hours = (Date.now() - Date.parse(from)) / 3_600_000;
    expect(hours).toBeGreaterThanOrEqual(168);
    expect(hours).toBeLessThan(169);
  });

  it("links a model's cost to the projects that used it, and those to their runs", async () => {
    const stub = await startModelStub();
    const { body: connection } = await tenant.secret.post("/v2/connections", {
      name: randomUUID(),
      provider_id: "openai_compatible",
      scheme: "api_key",
      credential: { api_key: "sk-planted", base_url: `${stub.url}/v1` },
    });
    const asking = (model: string) =>
      tenant.deploy(
        flow(
          [
            { id: "in-0", type: "input" },
            { id: "llm-0", type: "llm", config: { model, connection_id: connection.connection_id, prompt: "Hi" } },
            { id: "out-0", type: "output" },
          ],
          ["in-0>llm-0", "llm-0>out-0"],
        ),
      );
    const [used, other] = [await asking("well-used"), await asking("seldom-used")];
    for (const project_id of [used, used, other])
      await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "x" }, mode: "sync" });
    await tenant.secret.patch(`/v2/projects/${used}`, { name: "Asks the model" });
    const { page } = await signedIn(browser, tenant, "viewer");
    await page.getByRole("region", { name: "Cost by model" }).getByRole("link", { name: "well-used" }).click();
    await page.waitForURL(address(tenant, "/usage?hours=24&model=well-used"));
    const projects = page.getByRole("region", { name: "Usage by project" });
    await projects.getByRole("link", { name: "Asks the model" }).waitFor();
    // Projects that used the other model are not listed.
    expect(await projects.locator("tbody tr").count()).toBe(1);
    const days = page.getByRole("region", { name: "Usage by day (UTC)" }).locator("tbody tr");
    await expect.poll(() => days.count()).toBe(1);
    await page.getByRole("combobox", { name: "Model" }).selectOption("");
    await page.getByRole("region", { name: "Usage by model" }).getByRole("link", { name: "seldom-used" }).waitFor();
    await expect.poll(() => projects.locator("tbody tr").count()).toBe(2);
    await projects.getByRole("link", { name: "Asks the model" }).click();
    await expect.poll(() => page.locator("tbody tr").count()).toBe(2);
    expect(new URL(page.url()).searchParams.get("project_id")).toBe(used);
    await stub.close();
  });

  it("links to broken connections, which can be checked again", async () => {
    const upstream = await startHttpTarget();
    let taken = "sk-sound";
    upstream.onEvery(({ headers }, response) => {
      response.writeHead(headers["authorization"] === `Bearer ${taken}` ? 200 : 401, {
        "content-type": "application/json",
      });
      response.end('{"object":"list","data":[]}');
    });
    const make = (name: string, api_key: string) =>
      tenant.secret.post("/v2/connections", {
        name,
        provider_id: "openai_compatible",
        scheme: "api_key",
        credential: { api_key, base_url: `${upstream.url}/v1` },
      });
    await make("Broken one", "sk-broken");
    await make("Sound one", "sk-sound");
    taken = "sk-broken";
    const { page } = await signedIn(browser, tenant, "editor");
    await page.getByRole("link", { name: /^Broken connections\s*1\s*Broken one/ }).click();
    await page.waitForURL(address(tenant, "/connections?status=error"));
    await page.getByText(`${upstream.url} returned status 401.`).last().waitFor();
    const rows = page.getByRole("region", { name: "Connections" }).locator("tbody tr");
    expect(await rows.count()).toBe(1);
    await page.getByRole("combobox", { name: "State" }).selectOption("");
    await rows.filter({ hasText: "Sound one" }).waitFor();
    const row = rows.filter({ hasText: "Broken one" });
    await row.getByText("Error").waitFor();
    await row.getByRole("button", { name: "Check Broken one" }).click();
    await row.getByText("Error").waitFor({ state: "detached" });
    const reader = await signedIn(browser, tenant, "viewer", "/connections");
    await reader.page.getByText("Sound one").waitFor();
    expect(await reader.page.getByRole("button", { name: /^Check/ }).count()).toBe(0);
    await upstream.close();
  });

  it("links to the failing webhook, or to the list if there are several", async () => {
    const own = await openTenant();
    const receiver = await startHttpTarget();
    receiver.onEvery((_, response) => void response.writeHead(410).end());
    const add = async (name: string): Promise<string> => {
      const hook = { url: `${receiver.url}/${name}`, events: ["run.*"], description: name };
      return (await own.secret.post("/v2/webhooks/subscriptions", hook)).body.subscription_id;
    };
    const gone = async (name: string): Promise<string> => {
      const id = await add(name);
      await own.secret.post(`/v2/webhooks/subscriptions/${id}/test`);
      const reason = async () => (await own.secret.get(`/v2/webhooks/subscriptions/${id}`)).body.disabled_reason;
      await expect.poll(reason, { timeout: 20_000 }).toBe("gone");
      return id;
    };
    await add("sound");
    const disabled = await add("disabled-by-somebody");
    await own.secret.patch(`/v2/webhooks/subscriptions/${disabled}`, { status: "disabled" });
    const one = await gone("first-gone");
    const { page } = await signedIn(browser, own, "viewer", "/", { ownClock: true });
    const figure = page.getByRole("link", { name: /^Failing webhooks/ });
    await page.getByRole("link", { name: /^Failing webhooks\s*1\s*of 3/ }).click();
    await page.waitForURL(address(own, `/webhooks/${one}`));
    await gone("second-gone");
    await visit(page, "/");
    await figure.waitFor();
    await page.clock.fastForward(LOOKS_AGAIN_MS);
    await page.getByRole("link", { name: /^Failing webhooks\s*2\s*of 4/ }).waitFor();
    await figure.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(address(own, "/webhooks?failing=true"));
    const rows = page.getByRole("region", { name: "Webhooks", exact: true }).locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(2);
    await rows.filter({ hasText: "first-gone" }).waitFor();
    await rows.filter({ hasText: "second-gone" }).waitFor();
    const which = page.getByRole("combobox", { name: "Filter" });
    await which.selectOption("all");
    await page.waitForURL(address(own, "/webhooks"));
    await expect.poll(() => rows.count()).toBe(4);
    await page.goBack();
    await expect.poll(() => rows.count()).toBe(2);
    await expect.poll(() => which.inputValue()).toBe("failing");
    await own.secret.delete(`/v2/webhooks/subscriptions/${one}`);
    await receiver.close();
  });

  it("links to lists that include runs created exactly at the start of the time range", async () => {
    const own = await openTenant();
    const { body: run } = await own.secret.post("/v2/runs", {
      project_id: await own.deploy(echo()),
      inputs: { "in-0": "x" },
      mode: "sync",
    });
    const { page } = await signedIn(browser, own, "viewer", "/nothing");
    const answered = page.waitForResponse((answer) => answer.url().includes("/v2/run-statistics"));
    await visit(page, "/");
    const { from, buckets } = await (await answered).json();
    // A later response begins at another time, so it is blocked.
    await page.route("**/v2/run-statistics*", (route) => route.abort());
    const bars = page.getByRole("link", { name: /^Runs from .*: 1$/ });
    const hrefOf = async (name: RegExp): Promise<string> =>
      (await page.getByRole("link", { name }).last().getAttribute("href")) ?? "";
    await bars.first().waitFor();
    const [bar, completed] = [await hrefOf(/^Runs from .*: 1$/), await hrefOf(/^Completed/)];
    const create = (at: string) =>
      own.withDatabase((database) =>
        database.system((db) =>
          db.query("update runs set created_at = $2::timestamptz where run_id = $1::uuid", [run.run_id, at]),
        ),
      );
    const listed = async (href: string): Promise<string[]> => {
      const { body } = await own.secret.get(`/v2/runs${new URL(href, "http://x").search}`);
      return body.data.map(({ run_id }: { run_id: string }) => run_id);
    };
    const before = (time: string): string => new Date(Date.parse(time) - 1).toISOString();
    const { start } = buckets.at(-1);
    for (const [at, href] of [
      [start, bar],
      [from, completed],
    ] as const) {
      await create(at);
      expect([at, await listed(href)]).toEqual([at, [run.run_id]]);
      await create(before(at));
      expect([at, await listed(href)]).toEqual([at, []]);
    }
  });

  it("shows the reason and the fix of the last failures", async () => {
    const own = await openTenant();
    const { body: run } = await own.secret.post("/v2/runs", {
      project_id: await own.deploy(failing()),
      inputs: {},
      mode: "sync",
    });
    const { page } = await signedIn(browser, own, "viewer");
    const failures = page.getByRole("list", { name: "Recent failed runs" });
    await failures.getByText("guard_failed").waitFor();
    await failures.getByText("It is not allowed").waitFor();
    const { hint } = (await own.secret.get(`/v2/runs/${run.run_id}`)).body.error;
    await failures.getByText(`How to fix: ${hint}`).waitFor();
    await failures.getByRole("link").click();
    await page.waitForURL(address(own, `/runs/${run.run_id}`));
  });

  it("announces runs that enter or leave the list of stuck runs while it is open", async () => {
    const own = await openTenant();
    const { body } = await own.secret.post("/v2/runs", { project_id: await own.deploy(slow(3600)), inputs: {} });
    const state = async () =>
      (await own.secret.get(`/v2/runs/${body.run_id}`, { query: { expand: "nodes" } })).body.nodes;
    await expect.poll(state).toContainEqual(expect.objectContaining({ path: "delay-0", state: "RUNNING" }));
    /** A node that has been retrying for a day makes its run stuck. */
    const mark = (to: "RETRYING" | "RUNNING") =>
      own.withDatabase((database) =>
        database.system((db) =>
          db.query(
            "update node_runs set state = $2, started_at = now() - interval '1 day' where run_id = $1::uuid and path = 'delay-0'",
            [body.run_id, to],
          ),
        ),
      );
    const { page } = await signedIn(browser, own, "viewer", "/", { ownClock: true });
    await text(page, "No stuck runs");
    await mark("RETRYING");
    await page.clock.fastForward(LOOKS_AGAIN_MS);
    await text(page, "Updated: 1 added.");
    await page.getByRole("table", { name: "Stuck runs" }).waitFor();
    await mark("RUNNING");
    await page.clock.fastForward(LOOKS_AGAIN_MS);
    await text(page, "Updated: 1 removed.");
    await own.secret.post(`/v2/runs/${body.run_id}/cancel`, {});
  });

  it("links each figure and each bar to the list behind it", async () => {
    const { body: run } = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(asking()),
      inputs: {},
    });
    await tenant.until(run.run_id, "PAUSED");
    const { page } = await signedIn(browser, tenant, "viewer");
    const targetOf = async (name: RegExp) => {
      const href = await page.getByRole("link", { name }).getAttribute("href");
      return new URL(href ?? "", address(tenant, "/"));
    };
    const counted = page.getByRole("table", { name: "Runs created, by current state" }).getByRole("row").last();
    await counted.waitFor({ state: "attached" });
    const { body: now } = await tenant.secret.get("/v2/run-statistics");
    const { paused, open } = now.buckets.at(-1);
    expect(paused).toBeGreaterThan(0);
    expect((await counted.getByRole("cell").allTextContents()).slice(-2)).toEqual([
      String(paused),
      String(open - paused),
    ]);
    await page.getByRole("link", { name: /^Failed.*% of completed and failed runs$/ }).waitFor();
    expect((await targetOf(/^In progress/)).searchParams.getAll("state")).toEqual(["PENDING", "RUNNING", "RESUMED"]);
    expect((await targetOf(/^Median duration/)).searchParams.getAll("state")).toEqual(["COMPLETED", "FAILED"]);
    expect((await targetOf(/^Waiting for approval/)).search).toBe("?show=all");
    expect((await targetOf(/^View all failed runs/)).searchParams.get("created_after")).not.toBeNull();

    const bar = page.getByRole("link", { name: /^Runs from .*: [1-9]/ }).last();
    await bar.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\?/);
    const { searchParams } = new URL(page.url());
    const { start } = now.buckets.at(-1);
    expect(Math.abs(Date.parse(searchParams.get("created_after") ?? "") - Date.parse(start))).toBeLessThan(60_000);
    expect(Date.parse(searchParams.get("created_before") ?? "")).toBeGreaterThan(Date.parse(run.created_at));
    await page.locator(`a[href*="${run.run_id}"]`).first().waitFor();
  });
});
