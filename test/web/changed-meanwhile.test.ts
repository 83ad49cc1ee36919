import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { echo, openTenant } from "../api/tenant.ts";
import { signedIn } from "./support/console.ts";
import { browser, useConsole } from "./support/shared-console.ts";

useConsole();

const changed = (page: Page) => page.getByText("Somebody else has changed this meanwhile");

it("saves no days over what somebody else has set, and shows that", async () => {
  const tenant = await openTenant();
  const project = await tenant.deploy(echo());
  for (const [path, part, label] of [
    ["/v2/retention", "Runs of the organisation", "Days for the organisation"],
    [`/v2/projects/${project}/retention`, "Runs of a project", "Days for this project"],
  ] as const) {
    const daysNow = async (): Promise<number> => (await tenant.secret.get(path)).body.run_days;
    const { page, context } = await signedIn(browser, tenant, "admin", "/retention");
    const set = page.getByRole("region", { name: part });
    const days = page.getByLabel(label);
    await days.waitFor();
    await tenant.secret.patch(path, { run_days: 30 });
    await days.fill("40");
    await page.keyboard.press("Enter");
    // Without days so far, 40 are fewer.
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await changed(page).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    await set.getByText("30 days after their end").waitFor();
    expect([await days.inputValue(), await daysNow()]).toEqual(["30", 30]);
    // Once it has been seen, it is changed.
    await days.fill("45");
    await page.keyboard.press("Enter");
    await page.getByText("Saved.").waitFor();
    expect([await changed(page).count(), await daysNow()]).toEqual([0, 45]);
    // More days are saved at once; without a question these are not, either.
    await tenant.secret.patch(path, { run_days: 50 });
    await days.fill("60");
    await page.keyboard.press("Enter");
    await changed(page).waitFor();
    await set.getByText("50 days after their end").waitFor();
    expect(await daysNow()).toBe(50);
    await tenant.secret.patch("/v2/retention", { run_days: null });
    await context.close();
  }
});

it("asks for fewer days by what somebody saw, not by what has come since", async () => {
  const tenant = await openTenant();
  await tenant.secret.patch("/v2/retention", { run_days: 30 });
  const { page, context } = await signedIn(browser, tenant, "admin", "/retention");
  await page.getByLabel("Days for the organisation").fill("20");
  await page.keyboard.press("Enter");
  const save = page.getByRole("dialog").getByRole("button", { name: "Save" });
  await save.waitFor();
  await tenant.secret.patch("/v2/retention", { run_days: 60 });
  // As when the window is looked at again: the page behind the question has the new days.
  const read = page.waitForResponse((answer) => answer.url().endsWith("/v2/retention"));
  await page.waitForTimeout(2100);
  await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
  await read;
  await page.getByText("60 days after their end").first().waitFor();
  await save.click();
  await changed(page).waitFor();
  expect((await tenant.secret.get("/v2/retention")).body.run_days).toBe(60);
  await context.close();
});

it("saves no settings over what somebody else has set, and shows that", async () => {
  const tenant = await openTenant();
  const { page, context } = await signedIn(browser, tenant, "admin", "/settings");
  const model = page.getByLabel("Model", { exact: true });
  await model.waitFor();
  await tenant.secret.patch("/v2/settings", { default_model: "theirs" });
  await model.fill("mine");
  await page.keyboard.press("Enter");
  await changed(page).waitFor();
  await expect.poll(() => model.inputValue()).toBe("theirs");
  expect((await tenant.secret.get("/v2/settings")).body.default_model).toBe("theirs");
  await model.fill("mine");
  await page.keyboard.press("Enter");
  await page.getByText("Saved.").waitFor();
  expect((await tenant.secret.get("/v2/settings")).body.default_model).toBe("mine");
  // What was saved is what the next save is made of.
  await model.fill("ours");
  await page.keyboard.press("Enter");
  await expect.poll(async () => (await tenant.secret.get("/v2/settings")).body.default_model).toBe("ours");
  expect(await changed(page).count()).toBe(0);
  await context.close();
});
