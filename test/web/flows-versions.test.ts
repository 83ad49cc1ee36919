import { describe, expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { flow, nested } from "../engine/support.ts";
import { address, signedIn, text, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

const greeting = (template: string, more: readonly object[] = []) =>
  flow(
    [
      { id: "in-0", type: "input", name: "Guest" },
      { id: "tpl-0", type: "template", name: "Greeting", config: { template } },
      { id: "out-0", type: "output" },
      ...(more as Array<{ id: string; type: string }>),
    ],
    ["in-0>tpl-0", "tpl-0>out-0", ...more.map(() => "in-0>map-0")],
  );

describe("a flow's page", () => {
  it("publishes a draft with notes, shows what changed on the canvas and word by word, and rolls back", async () => {
    const { body: project } = await tenant.secret.post("/v2/projects", {
      name: "Greeter",
      flow: greeting("Good morning, {{in-0}}, nice to see you."),
    });
    const id = project.project_id as string;
    const caller = flow(
      [
        { id: "sub-0", type: "subflow", config: { project_id: id } },
        { id: "out-0", type: "output" },
      ],
      ["sub-0>out-0"],
    );
    await tenant.secret.post("/v2/projects", { name: "Caller of greeter", flow: caller });
    await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "Ada" }, mode: "sync" });
    const items = nested(
      [
        { id: "tpl-1", type: "template", config: { template: "x" } },
        { id: "out-0", type: "output" },
      ],
      ["tpl-1>out-0"],
    );
    const inner = { id: "map-0", type: "map", config: { items: "[1]", flow: items } };
    const draft = greeting("Good evening, {{in-0}}, nice to see you.", [inner]);
    await tenant.secret.put(`/v2/projects/${id}/draft`, { flow: { ...draft, description: "Greets" } });

    const { page } = await signedIn(browser, tenant, "editor", `/flows/${id}`);
    await page.getByRole("heading", { name: "Greeter · Versions" }).waitFor();
    await page.getByRole("img", { name: "Picture of version 1" }).waitFor();
    await page.getByRole("link", { name: "Caller of greeter" }).waitFor();
    await page
      .getByRole("row", { name: /Version 1/ })
      .getByRole("link", { name: "1 run" })
      .waitFor();

    await page.getByRole("link", { name: "Show changes" }).click();
    const changes = page.getByRole("region", { name: "Changes" });
    await changes.getByRole("button", { name: /Changed Greeting/ }).click();
    const words = page.getByRole("group", { name: "Changes of Greeting" });
    expect(await words.locator("del").allTextContents()).toEqual(["morning"]);
    expect(await words.locator("ins").allTextContents()).toEqual(["evening"]);
    await page.getByRole("group", { name: "Settings and examples" }).getByText("Greets").waitFor();
    const canvas = page.getByRole("region", { name: "Canvas" });
    await canvas.getByRole("group", { name: "Greeting, template: Changed" }).waitFor();
    await canvas.getByRole("group", { name: "map-0, map: Added" }).click();
    expect(new URL(page.url()).searchParams.get("node")).toBe("map-0");
    await page.reload();
    await changes.getByRole("button", { name: /map-0/, expanded: true }).waitFor();

    await page.goto(address(tenant, `/flows/${id}`));
    await page.getByRole("button", { name: "Publish…" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Publish the draft as version 2" });
    await dialog.getByLabel("Notes").fill("Evenings");
    await dialog.getByRole("button", { name: "Publish" }).click();
    const row = (version: string) => page.getByRole("row").filter({ hasText: version });
    await row("Version 2").filter({ hasText: "Evenings" }).getByText("Published").waitFor();
    expect(await page.getByText("The draft has changes").count()).toBe(0);

    await page.getByRole("button", { name: /Roll back…\s*version 1/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await row("Version 1").getByText("Published").waitFor();
    expect((await tenant.secret.get(`/v2/projects/${id}`)).body.published_version).toBe(1);

    await visit(page, `/flows/${id}/versions/2?node=tpl-0`);
    await page.getByRole("group", { name: "Settings of tpl-0" }).getByText("Good evening").waitFor();
    await page.getByRole("link", { name: "Compare with published" }).click();
    await page.waitForURL(/compare\/1\/2$/);
    await page.getByLabel("To", { exact: true }).selectOption("1");
    await text(page, "No differences.");
  });

  it("lets a viewer look but not change, and a member see only their own flows", async () => {
    const [seen, hidden] = [await tenant.deploy(echo()), await tenant.deploy(echo())];
    const { page, context } = await signedIn(browser, tenant, "viewer", `/flows/${seen}`);
    await page.getByRole("region", { name: "Versions", exact: true }).first().waitFor();
    for (const name of [/Publish/, /Roll back/, /Rename/, "More"])
      expect(await page.getByRole("button", { name }).count(), String(name)).toBe(0);
    await page.getByRole("link", { name: "Open editor" }).waitFor();
    await visit(page, `/flows/${seen}/call`);
    await page.getByRole("button", { name: "Send" }).waitFor();
    expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
    expect(await page.getByRole("button", { name: /Create key/ }).count()).toBe(0);
    await context.close();

    const member = await signedIn(browser, tenant, "member", "/", { email: "member-of-one@example.test" });
    const { body: users } = await tenant.secret.get("/v2/users", { query: { page_size: 200 } });
    const { user_id } = users.data.find((user: { email: string }) => user.email === member.email);
    await tenant.secret.put(`/v2/projects/${seen}/members/${user_id}`, { role: "viewer" });
    await member.page.goto(address(tenant, "/flows"));
    await expect.poll(() => member.page.getByRole("region", { name: "Flows" }).locator("[data-row]").count()).toBe(1);
    await visit(member.page, `/flows/${seen}`);
    await member.page.getByRole("region", { name: "Versions", exact: true }).first().waitFor();
    await visit(member.page, `/flows/${hidden}`);
    await text(member.page, "Flow not found");
  });
});
