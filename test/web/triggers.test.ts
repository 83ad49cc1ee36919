import { expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { client } from "../support/client.ts";
import { checkBothLooks, signedIn } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

it("shows a trigger with its firings, repeats one, and changes its settings", async () => {
  const project_id = await tenant.deploy(echo());
  await tenant.secret.put(`/v2/projects/${project_id}/environments/staging`, { version: 1 });
  const wanted = {
    project_id,
    provider_id: "millrace",
    trigger_id: "webhook",
    config: {},
    inputs: { "in-0": "payload.body.missing" },
  };
  const { status, body: trigger } = await tenant.secret.post("/v2/triggers", wanted);
  expect(status, JSON.stringify(trigger)).toBe(201);
  await client(tenant.target).post(new URL(trigger.address).pathname, { order: "A-17" });

  const { page } = await signedIn(browser, tenant, "editor", `/flows/${project_id}`);
  await page.getByRole("link", { name: /^Inbound webhook/ }).click();
  await page.waitForURL(new RegExp(`/flows/${project_id}/triggers/${trigger.id}`));
  const firings = page.getByRole("region", { name: "Firings" });
  await firings.getByRole("row").getByText("Failed", { exact: true }).first().waitFor();
  await checkBothLooks(page, "a trigger");
  await page.setViewportSize({ width: 1280, height: 800 });
  await firings.getByRole("button", { name: "Payload" }).click();
  await page.getByRole("group", { name: "Payload of the firing" }).getByText("A-17").waitFor();
  await page.keyboard.press("Escape");

  const settings = page.getByRole("region", { name: "Settings" });
  await settings.getByLabel("Value of in-0").fill("payload.body.order");
  await settings.getByLabel("Environment").selectOption("staging");
  await settings.getByRole("button", { name: "Save" }).click();
  await settings.getByRole("button", { name: "Save" }).waitFor({ state: "detached" });
  await firings.getByRole("button", { name: "Repeat" }).click();
  await firings.getByRole("row").getByText("Started", { exact: true }).first().waitFor();
  await firings.getByText(/repeats [0-9a-f]{4}/).waitFor();
  await page.getByLabel("State of firings").selectOption("failed");
  await expect.poll(() => firings.getByRole("button", { name: "Payload" }).count()).toBe(1);
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("button", { name: "Enable" }).waitFor();
  expect((await tenant.secret.get(`/v2/triggers/${trigger.id}`)).body).toMatchObject({
    enabled: false,
    environment: "staging",
    inputs: { "in-0": "payload.body.order" },
  });
});
