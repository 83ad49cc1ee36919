import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { echo, openTenant } from "../api/tenant.ts";
import { signedIn } from "./support/console.ts";
import { browser, useConsole } from "./support/shared-console.ts";

useConsole();

const changed = (page: Page) => page.getByText("Someone else changed this");

it("does not overwrite a newer retention setting, and shows it", async () => {
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
    // Without days so far, 40 days delete runs, so the change must be confirmed.
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await changed(page).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    await set.getByText("30 days after they finish").waitFor();
    expect([await days.inputValue(), await daysNow()]).toEqual(["30", 30]);
    // After the newer state is shown, a save succeeds.
    await days.fill("45");
    await page.keyboard.press("Enter");
    await page.getByText("Saved.").waitFor();
    expect([await changed(page).count(), await daysNow()]).toEqual([0, 45]);
    // A longer retention is saved without confirmation, but a stale one is refused as well.
    await tenant.secret.patch(path, { run_days: 50 });
    await days.fill("60");
    await page.keyboard.press("Enter");
    await changed(page).waitFor();
    await set.getByText("50 days after they finish").waitFor();
    expect(await daysNow()).toBe(50);
    await tenant.secret.patch("/v2/retention", { run_days: null });
    await context.close();
  }
});

it("does not shorten retention if the days have changed while the confirmation is open", async () => {
  const tenant = await openTenant();
  await tenant.secret.patch("/v2/retention", { run_days: 30 });
  const { page } = await signedIn(browser, tenant, "admin", "/retention");
  await page.getByLabel("Days for the organisation").fill("20");
  await page.keyboard.press("Enter");
  const save = page.getByRole("dialog").getByRole("button", { name: "Save" });
  await save.waitFor();
  await tenant.secret.patch("/v2/retention", { run_days: 60 });
  // Returning to the window refetches the page behind the dialog, which then has the new days.
  const read = page.waitForResponse((answer) => answer.url().endsWith("/v2/retention"));
  await page.waitForTimeout(2100);
  await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
  await read;
  await page.getByText("60 days after they finish").first().waitFor();
  await save.click();
  await changed(page).waitFor();
  expect((await tenant.secret.get("/v2/retention")).body.run_days).toBe(60);
});

it("does not overwrite newer settings, and shows them", async () => {
  const tenant = await openTenant();
  const { page } = await signedIn(browser, tenant, "admin", "/settings");
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
  // The next save is based on the state that was saved last.
  await model.fill("ours");
  await page.keyboard.press("Enter");
  await expect.poll(async () => (await tenant.secret.get("/v2/settings")).body.default_model).toBe("ours");
  expect(await changed(page).count()).toBe(0);
});

/** A viewer, and a page on which an admin sees that user's row. */
async function openGuest() {
  const tenant = await openTenant();
  const { body: user } = await tenant.secret.post("/v2/users", {
    email: "guest@example.test",
    password: "a long enough password",
    role: "viewer",
  });
  const path = `/v2/users/${user.user_id}`;
  const { page, context } = await signedIn(browser, tenant, "admin", "/access");
  const row = page.getByRole("row").filter({ hasText: "guest@example.test" });
  return { tenant, path, page, context, row };
}

it("does not change a user whom someone else has changed, and shows the current state", async () => {
  const { tenant, path, page, row } = await openGuest();
  const now = async () => {
    const { role, disabled } = (await tenant.secret.get(path)).body;
    return [role, disabled];
  };
  const role = row.getByRole("combobox");
  await role.selectOption("admin");
  await tenant.secret.patch(path, { disabled: true });
  await row.getByRole("button", { name: "Change to admin" }).click();
  await changed(page).waitFor();
  await row.getByRole("button", { name: "Enable" }).waitFor();
  expect(await now()).toEqual(["viewer", true]);
  // After the newer state is shown, the change succeeds.
  await row.getByRole("button", { name: "Change to admin" }).click();
  await row.getByRole("button", { name: "Change to admin" }).waitFor({ state: "detached" });
  await expect.poll(() => changed(page).count()).toBe(0);
  expect(await now()).toEqual(["admin", true]);
  await row.getByRole("button", { name: "Enable" }).click();
  await row.getByRole("button", { name: "Disable…" }).click();
  // The dialog was opened for an admin.
  await tenant.secret.patch(path, { role: "editor" });
  await page.getByRole("dialog").getByRole("button", { name: "Disable", exact: true }).click();
  await changed(page).waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
  await expect.poll(() => role.inputValue()).toBe("editor");
  expect(await now()).toEqual(["editor", false]);
});

it("does not change a user who changes between the click and the request", async () => {
  const { tenant, path, page, row } = await openGuest();
  await row.getByRole("combobox").selectOption("admin");
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() === "PATCH") await tenant.secret.patch(path, { disabled: true });
    await route.continue();
  });
  await row.getByRole("button", { name: "Change to admin" }).click();
  await changed(page).waitFor();
  await row.getByRole("button", { name: "Enable" }).waitFor();
  expect((await tenant.secret.get(path)).body).toMatchObject({ role: "viewer", disabled: true });
});

it("does not change a webhook that someone else has changed, and shows the current state", async () => {
  const tenant = await openTenant();
  const { body: hook } = await tenant.secret.post("/v2/webhooks/subscriptions", {
    url: "https://receiver.example.test/hook",
    events: ["run.failed"],
  });
  const path = `/v2/webhooks/subscriptions/${hook.subscription_id}`;
  const { page } = await signedIn(browser, tenant, "admin", `/webhooks/${hook.subscription_id}`);
  const disable = page.getByRole("button", { name: "Disable", exact: true });
  await disable.waitFor();
  // The page polls every few seconds; here its requests are aborted until it has sent the change.
  let isHeld = true;
  await page.route(`**${path}`, (route) =>
    route.request().method() === "GET" && isHeld ? route.abort() : route.continue(),
  );
  await tenant.secret.patch(path, { description: "Theirs now" });
  await page.route(`**${path}`, (route) => {
    if (route.request().method() === "PATCH") isHeld = false;
    return route.fallback();
  });
  await disable.click();
  await changed(page).waitFor();
  await page.getByText("Theirs now").waitFor();
  expect((await tenant.secret.get(path)).body.status).toBe("enabled");
  await disable.click();
  await page.getByRole("button", { name: "Enable", exact: true }).waitFor();
  expect((await tenant.secret.get(path)).body.status).toBe("disabled");
});
