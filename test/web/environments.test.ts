import { mkdirSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { edges, flow, node } from "../support/flows.ts";
import { startHttpTarget } from "../support/http-target.ts";
import { address, checkBothLooks, signedIn, text } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

const shots = process.env["MILLRACE_SHOTS"];
async function shoot(page: Page, name: string): Promise<void> {
  if (shots === undefined) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
}

const calling = (connection_id: string, label: string) =>
  flow({
    nodes: [
      node("in-0", "input"),
      node("act-0", "action", { provider_id: "http", action_id: "get", connection_id, inputs: { url: "/seen" } }),
      node("out-0", "output", { value: `${label} {{nodes["act-0"].body.url}}` }),
    ],
    edges: edges("in-0 > act-0 > out-0"),
  });

describe("the environments of a flow", () => {
  it("get a version and connections of their own, and go back, with and without a second person", async () => {
    const upstream = await startHttpTarget();
    try {
      const connect = async (name: string): Promise<string> => {
        const credential = { base_url: `${upstream.url}/${name}`, token: "t" };
        const body = { name, provider_id: "http", scheme: "bearer", credential };
        return (await tenant.secret.post("/v2/connections", body)).body.connection_id;
      };
      const [live] = [await connect("live-shop"), await connect("test-shop")];
      const project_id = await tenant.deploy(calling(live, "v1"));
      const versions = `/v2/projects/${project_id}/versions`;
      await tenant.secret.post(versions, { flow: calling(live, "v2"), publish: false });
      const run = async (environment: string): Promise<unknown> =>
        (await tenant.secret.post("/v2/runs", { project_id, environment, inputs: { "in-0": "x" }, mode: "sync" })).body
          .outputs?.["out-0"];

      const first = await signedIn(browser, tenant, "admin", `/flows/${project_id}`);
      const { page } = first;
      await page.getByRole("link", { name: "Environments" }).click();
      const panel = (name: string) => page.getByRole("region", { name, exact: true });
      await panel("staging").getByText("No version yet").waitFor();
      await panel("production").getByRole("link", { name: "Version 1", exact: true }).waitFor();

      await page.getByRole("button", { name: "Promote… to staging" }).click();
      const dialog = page.getByRole("dialog", { name: "Promote to staging" });
      await dialog.getByLabel("Version to promote").selectOption("2");
      await dialog.getByLabel("live-shop").selectOption({ label: "test-shop" });
      await dialog.getByText("Version 2 is the first one here").waitFor();
      await dialog.getByLabel("Notes").fill("Try the new label");
      await shoot(page, "environments-promote");
      await dialog.getByRole("button", { name: "Promote", exact: true }).click();
      await panel("staging").getByRole("link", { name: "Version 2", exact: true }).waitFor();
      await panel("staging").getByText("live-shop → test-shop").waitFor();
      expect([await run("staging"), await run("production")]).toEqual(["v2 /test-shop/seen", "v1 /live-shop/seen"]);

      await page.getByRole("button", { name: "Require reviews in production" }).click();
      await panel("production").getByText("A second person approves").waitFor();
      await page.getByRole("button", { name: "Propose… for production" }).click();
      const proposal = page.getByRole("dialog", { name: "Promote to production" });
      await proposal.getByText("Version 1 to version 2").waitFor();
      await proposal.getByText("Changed: out-0").waitFor();
      await proposal.getByRole("button", { name: "Propose" }).click();
      await page.getByRole("link", { name: "Review version 2" }).click();
      await text(page, "You proposed this version, so another person has to approve it.");
      expect(await page.getByRole("button", { name: "Approve and promote" }).count()).toBe(0);
      expect(await run("production")).toBe("v1 /live-shop/seen");
      const address = new URL(page.url());

      const other = await signedIn(
        browser,
        tenant,
        "editor",
        address.pathname.replace("/console", "") + address.search,
      );
      const review = other.page.getByRole("dialog", { name: "Review for production" });
      await review.getByText("Version 1 to version 2").waitFor();
      await shoot(other.page, "environments-review");
      await review.getByLabel("Reason").fill("Looks right");
      await review.getByRole("button", { name: "Approve and promote" }).click();
      await other.page
        .getByRole("region", { name: "production", exact: true })
        .getByRole("link", { name: "Version 2", exact: true })
        .waitFor();
      expect(await run("production")).toBe("v2 /live-shop/seen");

      await other.page.getByRole("button", { name: "Roll back… production", exact: true }).click();
      const back = other.page.getByRole("dialog", { name: "Roll production back" });
      await back.getByLabel("Notes").fill("Customers complain");
      await back.getByRole("button", { name: "Roll back" }).click();
      await other.page
        .getByRole("region", { name: "production", exact: true })
        .getByRole("link", { name: "Version 1", exact: true })
        .waitFor();
      await other.page.getByRole("row", { name: /Customers complain/ }).waitFor();
      expect(await run("production")).toBe("v1 /live-shop/seen");
      await shoot(other.page, "environments");
      await checkBothLooks(other.page, "environments");
      await shoot(other.page, "environments-last");
      await other.context.close();
      await first.context.close();
    } finally {
      await upstream.close();
    }
  });

  it("are created, called, renamed and deleted", async () => {
    const project_id = await tenant.deploy(flow());
    const { page } = await signedIn(browser, tenant, "admin", `/flows/${project_id}/environments`);
    const panel = (name: string) => page.getByRole("region", { name, exact: true });
    const names = async (): Promise<string[]> =>
      (await tenant.secret.get(`/v2/projects/${project_id}/environments`)).body.data.map(
        ({ name }: { readonly name: string }) => name,
      );
    await page.getByRole("button", { name: "New environment…" }).click();
    const created = page.getByRole("dialog", { name: "New environment" });
    for (const [wrong, reason] of [
      ["Acceptance", "Lower-case letters"],
      ["draft", "Lower-case letters"],
      ["staging", "already has staging"],
    ] as const) {
      await created.getByLabel("Name").fill(wrong);
      await created.getByRole("button", { name: "Choose a version" }).click();
      await created.getByText(reason).last().waitFor();
    }
    await created.getByLabel("Name").fill("acceptance");
    await created.getByRole("button", { name: "Choose a version" }).click();
    const promoted = page.getByRole("dialog", { name: "Promote to acceptance" });
    await promoted.getByRole("button", { name: "Promote", exact: true }).click();
    await panel("acceptance").getByRole("link", { name: "Version 1", exact: true }).waitFor();
    await checkBothLooks(page, "environments");

    await page.goto(address(tenant, `/flows/${project_id}/call?environment=acceptance`));
    await page.getByText("?environment=acceptance").first().waitFor();
    await page.getByRole("form", { name: "Inputs" }).getByRole("textbox").first().fill("x");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const open = page.getByRole("link", { name: "Open the run" });
    const run = (await open.getAttribute("href"))?.split("/").at(-1) ?? "";
    expect((await tenant.secret.get(`/v2/runs/${run}`)).body).toMatchObject({ environment: "acceptance" });

    await page.goto(address(tenant, `/flows/${project_id}/environments`));
    await page.getByRole("button", { name: "Rename… acceptance" }).click();
    const renamed = page.getByRole("dialog", { name: "Rename acceptance" });
    await renamed.getByLabel("Name").fill("Über");
    await renamed.getByRole("button", { name: "Rename", exact: true }).click();
    await renamed.getByRole("textbox", { name: "Name" }).and(page.locator("[aria-invalid=true]")).waitFor();
    await renamed.getByLabel("Name").fill("uat");
    await renamed.getByRole("button", { name: "Rename", exact: true }).click();
    await panel("uat").waitFor();
    expect(await names()).toContain("uat");
    await page.getByRole("button", { name: "Delete… uat" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await panel("uat").waitFor({ state: "detached" });
    expect(await names()).not.toContain("uat");
    expect(await page.getByRole("button", { name: /^(Rename|Delete)… production/ }).count()).toBe(0);
  });

  it("cannot be changed by viewers", async () => {
    const project_id = await tenant.deploy(flow());
    const { page } = await signedIn(browser, tenant, "viewer", `/flows/${project_id}/environments`);
    await page
      .getByRole("region", { name: "production", exact: true })
      .getByRole("link", { name: "Version 1", exact: true })
      .waitFor();
    for (const name of [/Promote/, /Roll/, /Require/, /^New/, /Rename/, /Delete/])
      expect(await page.getByRole("button", { name }).count(), String(name)).toBe(0);
  });
});
