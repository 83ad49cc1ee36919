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

/** A viewer, and the page on which an admin sees the row of that user. */
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

it("changes no user whom somebody else has changed, and shows how the user is now", async () => {
  const { tenant, path, page, context, row } = await openGuest();
  const now = async () => {
    const { role, disabled } = (await tenant.secret.get(path)).body;
    return [role, disabled];
  };
  const role = row.getByRole("combobox");
  await role.selectOption("admin");
  await tenant.secret.patch(path, { disabled: true });
  await row.getByRole("button", { name: "Make admin" }).click();
  await changed(page).waitFor();
  await row.getByRole("button", { name: "Let in" }).waitFor();
  expect(await now()).toEqual(["viewer", true]);
  // Once it has been seen, it is changed.
  await row.getByRole("button", { name: "Make admin" }).click();
  await row.getByRole("button", { name: "Make admin" }).waitFor({ state: "detached" });
  await expect.poll(() => changed(page).count()).toBe(0);
  expect(await now()).toEqual(["admin", true]);
  await row.getByRole("button", { name: "Let in" }).click();
  await row.getByRole("button", { name: "Lock out…" }).click();
  // The question was about an admin.
  await tenant.secret.patch(path, { role: "editor" });
  await page.getByRole("dialog").getByRole("button", { name: "Lock out", exact: true }).click();
  await changed(page).waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
  await expect.poll(() => role.inputValue()).toBe("editor");
  expect(await now()).toEqual(["editor", false]);
  await context.close();
});

it("changes no user who changes between the look and the change", async () => {
  const { tenant, path, page, context, row } = await openGuest();
  await row.getByRole("combobox").selectOption("admin");
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() === "PATCH") await tenant.secret.patch(path, { disabled: true });
    await route.continue();
  });
  await row.getByRole("button", { name: "Make admin" }).click();
  await changed(page).waitFor();
  await row.getByRole("button", { name: "Let in" }).waitFor();
  expect((await tenant.secret.get(path)).body).toMatchObject({ role: "viewer", disabled: true });
  await context.close();
});

it("changes no subscription that somebody else has changed, and shows how it is now", async () => {
  const tenant = await openTenant();
  const { body: hook } = await tenant.secret.post("/v2/webhooks/subscriptions", {
    url: "https://receiver.example.test/hook",
    events: ["run.failed"],
  });
  const path = `/v2/webhooks/subscriptions/${hook.subscription_id}`;
  const { page, context } = await signedIn(browser, tenant, "admin", `/webhooks/${hook.subscription_id}`);
  const disable = page.getByRole("button", { name: "Disable", exact: true });
  await disable.waitFor();
  // The page asks again every few seconds: here only once it is told to.
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
  await context.close();
});
