import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { failing, type ApiTenant } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { address, signedIn, violations } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

type Flow = Parameters<ApiTenant["deploy"]>[0];

/** Runs a flow until it finishes. */
async function ended(definition: Flow, inputs: Record<string, unknown> = {}): Promise<string> {
  const given = { project_id: await tenant.deploy(definition), inputs, mode: "sync", wait_seconds: 30 };
  const { body } = await tenant.secret.post("/v2/runs", given);
  return body.run_id;
}
const runIdOf = (page: Page): string => new URL(page.url()).pathname.split("/").at(-1) ?? "";
const timeline = (page: Page) => page.getByRole("group", { name: "Timeline of nodes" });

/** A flow that greets in two steps. */
const greeting = (): Flow =>
  flow(
    [
      { id: "in-0", type: "input" },
      { id: "first", type: "template", config: { template: "dear {{in-0}}" } },
      { id: "second", type: "template", config: { template: "Hello {{first}}, {{in-0}}" } },
      { id: "out-0", type: "output" },
    ],
    ["in-0>first", "in-0>second", "first>second", "second>out-0"],
  );

describe("the timeline", () => {
  it("lists each node after the nodes that it depends on, even if they start at the same moment", async () => {
    const nodes = [
      { id: "c", type: "input", config: { required: false, default: "x" } },
      { id: "b", type: "template", config: { template: "{{c}}" } },
      { id: "a", type: "guard", config: { check: "false", message: "No" } },
      { id: "out-0", type: "output" },
    ];
    const run_id = await ended(flow(nodes, ["c>b", "b>a", "a>out-0"]));
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}`);
    const places = timeline(page).locator(".timeline-name [title]");
    await expect
      .poll(() => places.evaluateAll((all) => all.map((each) => each.getAttribute("title"))))
      .toEqual(["c", "b", "a"]);
  });
});

describe("a run whose workflow was stuck", () => {
  it("shows a stuck workflow, and does not call the run stuck", async () => {
    const run_id = await ended(failing());
    await tenant.withDatabase((database) =>
      database.system((db) => db.query("update runs set state_reason = 'stuck' where run_id = $1", [run_id])),
    );
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}`);
    await page.getByText("Stuck workflow: Temporal could not advance it. See the worker logs.").waitFor();
  });
});

describe("resuming from a node", () => {
  it("reuses earlier nodes, accepts other inputs, and links both runs", async () => {
    const run_id = await ended(greeting(), { "in-0": "Ada" });
    const { page } = await signedIn(browser, tenant, "editor", `/runs/${run_id}?node=second`);
    await page.getByRole("button", { name: "Resume from this node…" }).click();
    const dialog = page.getByRole("dialog", { name: "Resume from a node" });
    await dialog.getByText("Reused: in-0, first").waitFor();
    await dialog.getByLabel("in-0").fill("Grace");
    // The dialog shows this before the run starts: "first" has used the other name.
    await dialog.getByText("keep results based on it").waitFor();
    await dialog.getByRole("button", { name: "Resume" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(run_id));
    const fork = runIdOf(page);
    expect((await tenant.until(fork, "COMPLETED")).outputs).toEqual({ "out-0": "Hello dear Ada, Grace" });

    await page.getByRole("group", { name: /^first, template: Completed, reused/ }).waitFor();
    await timeline(page)
      .getByRole("button", { name: /^first\b.*reused/ })
      .click();
    await page.getByText("Reused from an earlier run").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("link", { name: "earlier run" }).click();
    await page.waitForURL(address(tenant, `/runs/${run_id}?node=first`));
    await page.getByRole("button", { name: "Back to run" }).click();
    await page.getByRole("link", { name: fork.slice(-6) }).click();
    await page.waitForURL(address(tenant, `/runs/${fork}`));
    await page.getByText("Resumed from", { exact: true }).waitFor();
  });

  it("uses the selected version", async () => {
    const run_id = await ended(greeting(), { "in-0": "Ada" });
    const { project_id } = (await tenant.secret.get(`/v2/runs/${run_id}`)).body;
    const better = greeting();
    const nodes = better.nodes.map((node) =>
      node.id === "second" ? { ...node, config: { template: "Welcome {{first}}" } } : node,
    );
    await tenant.secret.post(`/v2/projects/${project_id}/versions`, { flow: { ...better, nodes } });
    const { page } = await signedIn(browser, tenant, "editor", `/runs/${run_id}?node=second`);
    await page.getByRole("button", { name: "Resume from this node…" }).click();
    await page.getByLabel("Flow version").selectOption("2");
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(run_id));
    const fork = await tenant.until(runIdOf(page), "COMPLETED");
    expect([fork.flow_version, fork.outputs]).toEqual([2, { "out-0": "Welcome dear Ada" }]);
  });

  it("starts at unfinished nodes of a failed run by default, and is not offered to a viewer", async () => {
    const run_id = await ended(failing('nodes["in-0"] == "good"'), { "in-0": "bad" });
    const editor = await signedIn(browser, tenant, "editor", `/runs/${run_id}`);
    await editor.page.getByText("How to fix: A guard in the flow rejected the run").first().waitFor();
    await editor.page.getByRole("button", { name: "Resume from…" }).click();
    const dialog = editor.page.getByRole("dialog");
    expect(await dialog.getByLabel("Resume from").inputValue()).toBe("failed");
    await dialog.getByLabel("in-0").fill("good");
    await dialog.getByRole("button", { name: "Resume" }).click();
    await editor.page.waitForURL((url) => !url.pathname.endsWith(run_id));
    await tenant.until(runIdOf(editor.page), "COMPLETED");
    await editor.context.close();

    const viewer = await signedIn(browser, tenant, "viewer", `/runs/${run_id}?node=guard-0`);
    await viewer.page.getByRole("heading", { name: "Timeline" }).waitFor();
    expect(await viewer.page.getByRole("button", { name: /Resume from/ }).count()).toBe(0);
  });

  it("is separate from a rerun, which starts from the beginning with another input", async () => {
    const run_id = await ended(greeting(), { "in-0": "Ada" });
    const { page } = await signedIn(browser, tenant, "editor", `/runs/${run_id}`);
    await page.getByRole("button", { name: "Rerun…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("in-0").fill("Grace");
    await dialog.getByRole("button", { name: "Rerun", exact: true }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(run_id));
    const again = await tenant.until(runIdOf(page), "COMPLETED");
    expect([again.resumed_from, again.outputs]).toEqual([null, { "out-0": "Hello dear Grace, Grace" }]);
  });
});
