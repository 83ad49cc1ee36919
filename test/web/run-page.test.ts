import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { failing } from "../api/tenant.ts";
import type { ApiTenant } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { address, signedIn, violations } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

type Flow = Parameters<ApiTenant["deploy"]>[0];

/** A run that has ended. */
async function ended(definition: Flow, inputs: Record<string, unknown> = {}): Promise<string> {
  const given = { project_id: await tenant.deploy(definition), inputs, mode: "sync", wait_seconds: 30 };
  const { body } = await tenant.secret.post("/v2/runs", given);
  return body.run_id;
}
const runIdOf = (page: Page): string => new URL(page.url()).pathname.split("/").at(-1) ?? "";
const timeline = (page: Page) => page.getByRole("group", { name: "Timeline of nodes" });

/** Greets, in two steps. */
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
  it("has each node below the ones that it waits for, also where they begin at the same moment", async () => {
    const nodes = [
      { id: "c", type: "input", config: { required: false, default: "x" } },
      { id: "b", type: "template", config: { template: "{{c}}" } },
      { id: "a", type: "guard", config: { check: "false", message: "No" } },
      { id: "out-0", type: "output" },
    ];
    const run_id = await ended(flow(nodes, ["c>b", "b>a", "a>out-0"]));
    const { page, context } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}`);
    const places = timeline(page).locator(".timeline-name [title]");
    await expect
      .poll(() => places.evaluateAll((all) => all.map((each) => each.getAttribute("title"))))
      .toEqual(["c", "b", "a"]);
    await context.close();
  });
});

describe("going on from a node", () => {
  it("takes over what stood before it, with other inputs, and links both runs", async () => {
    const run_id = await ended(greeting(), { "in-0": "Ada" });
    const { page, context } = await signedIn(browser, tenant, "editor", `/runs/${run_id}?node=second`);
    await page.getByRole("button", { name: "Go on from this node…" }).click();
    const dialog = page.getByRole("dialog", { name: "Go on from a node" });
    await dialog.getByText("Taken over: in-0, first").waitFor();
    await dialog.getByLabel("in-0").fill("Grace");
    // Said before it is done: "first" has read the other name.
    await dialog.getByText("keeps what it made of the earlier value").waitFor();
    await dialog.getByRole("button", { name: "Go on" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(run_id));
    const fork = runIdOf(page);
    expect((await tenant.until(fork, "COMPLETED")).outputs).toEqual({ "out-0": "Hello dear Ada, Grace" });

    await page.getByRole("group", { name: /^first, template: Completed, reused/ }).waitFor();
    await timeline(page)
      .getByRole("button", { name: /^first\b.*reused/ })
      .click();
    await page.getByText("Reused: it ran in an earlier run").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("link", { name: "earlier run" }).click();
    await page.waitForURL(address(tenant, `/runs/${run_id}?node=first`));
    await page.getByRole("button", { name: "The whole run" }).click();
    await page.getByRole("link", { name: fork.slice(-6) }).click();
    await page.waitForURL(address(tenant, `/runs/${fork}`));
    await page.getByText("Goes on from", { exact: true }).waitFor();
    await context.close();
  });

  it("runs with the version that is chosen", async () => {
    const run_id = await ended(greeting(), { "in-0": "Ada" });
    const { project_id } = (await tenant.secret.get(`/v2/runs/${run_id}`)).body;
    const better = greeting();
    const nodes = better.nodes.map((node) =>
      node.id === "second" ? { ...node, config: { template: "Welcome {{first}}" } } : node,
    );
    await tenant.secret.post(`/v2/projects/${project_id}/versions`, { flow: { ...better, nodes } });
    const { page, context } = await signedIn(browser, tenant, "editor", `/runs/${run_id}?node=second`);
    await page.getByRole("button", { name: "Go on from this node…" }).click();
    await page.getByLabel("Version of the flow").selectOption("2");
    await page.getByRole("dialog").getByRole("button", { name: "Go on" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(run_id));
    const fork = await tenant.until(runIdOf(page), "COMPLETED");
    expect([fork.flow_version, fork.outputs]).toEqual([2, { "out-0": "Welcome dear Ada" }]);
    await context.close();
  });

  it("is offered from what had not finished where the run has failed, and not to a viewer", async () => {
    const run_id = await ended(failing('nodes["in-0"] == "good"'), { "in-0": "bad" });
    const editor = await signedIn(browser, tenant, "editor", `/runs/${run_id}`);
    await editor.page.getByText("What helps: The flow itself has refused this").first().waitFor();
    await editor.page.getByRole("button", { name: "Go on from…" }).click();
    const dialog = editor.page.getByRole("dialog");
    expect(await dialog.getByLabel("From").inputValue()).toBe("failed");
    await dialog.getByLabel("in-0").fill("good");
    await dialog.getByRole("button", { name: "Go on" }).click();
    await editor.page.waitForURL((url) => !url.pathname.endsWith(run_id));
    await tenant.until(runIdOf(editor.page), "COMPLETED");
    await editor.context.close();

    const viewer = await signedIn(browser, tenant, "viewer", `/runs/${run_id}?node=guard-0`);
    await viewer.page.getByRole("heading", { name: "Timeline" }).waitFor();
    expect(await viewer.page.getByRole("button", { name: /Go on from/ }).count()).toBe(0);
    await viewer.context.close();
  });

  it("runs again from the beginning, with another input", async () => {
    const run_id = await ended(greeting(), { "in-0": "Ada" });
    const { page, context } = await signedIn(browser, tenant, "editor", `/runs/${run_id}`);
    await page.getByRole("button", { name: "Run again…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("in-0").fill("Grace");
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(run_id));
    const again = await tenant.until(runIdOf(page), "COMPLETED");
    expect([again.resumed_from, again.outputs]).toEqual([null, { "out-0": "Hello dear Grace, Grace" }]);
    await context.close();
  });
});
