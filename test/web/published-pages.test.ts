import { expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { checkBothLooks, signedIn } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

it("publishes a page, shows its URL and its code, changes it and revokes it", async () => {
  const project_id = await tenant.deploy(echo());
  const pages = async () => (await tenant.secret.get(`/v2/projects/${project_id}/pages`)).body.data;
  const { page, context } = await signedIn(browser, tenant, "admin", `/flows/${project_id}`);
  await page.getByRole("link", { name: "Pages" }).click();
  await page.getByText("No pages yet").waitFor();
  await page.getByRole("button", { name: "Publish a page…" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("radio", { name: /^Chat/ }).check();
  await dialog.getByLabel("Title").fill("Ask <b>us</b>");
  await dialog.getByLabel("Welcome (optional)").fill("Hello, what is it?");
  await dialog.getByLabel("Colour").fill("#a83200");
  const preview = dialog.getByRole("region", { name: "Preview" });
  expect(await preview.innerText()).toMatch(/^Ask <b>us<\/b>\s+Hello, what is it\?/);
  const border = "getComputedStyle(document.querySelector('.published-frame')).borderTopColor";
  expect(await page.evaluate(border)).toBe("rgb(168, 50, 0)");
  await dialog.getByLabel(/^Websites/).fill("shop.example");
  await dialog.getByLabel("Password (optional)").fill("tulip and harbour");
  await dialog.getByRole("button", { name: "Publish page" }).click();
  await dialog.getByText("Must be an origin").waitFor();
  expect(await page.locator(":focus").inputValue()).toBe("shop.example");
  await dialog.getByLabel(/^Websites/).fill("https://shop.example");
  await checkBothLooks(page, "publish dialog");
  await page.setViewportSize({ width: 1280, height: 800 });
  await dialog.getByRole("button", { name: "Publish page" }).click();

  const share = page.getByRole("dialog", { name: "Ask <b>us</b>" });
  await share.getByRole("heading", { name: "On your website" }).waitFor();
  const [made] = await pages();
  expect(made).toMatchObject({
    kind: "chat",
    environment: "production",
    look: { name: "Ask <b>us</b>", colour: "#a83200", welcome: "Hello, what is it?" },
    origins: ["https://shop.example"],
    has_password: true,
    expires_at: null,
  });
  await share.getByText(made.url, { exact: true }).waitFor();
  const { origin, pathname } = new URL(made.url);
  expect(await share.locator("pre").innerText()).toBe(
    `<script src="${origin}/embed.js" data-page="${pathname.slice(3)}" data-label="Open chat" data-colour="#a83200" defer></script>`,
  );
  await checkBothLooks(page, "share dialog");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: /^Edit/ }).click();
  await dialog.getByLabel("Closes (optional)").fill("2030-01-02T03:04");
  await dialog.getByRole("button", { name: "Change or remove it" }).click();
  await dialog.getByRole("button", { name: "Use the usual colour" }).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const [changed] = await pages();
  expect(changed).toMatchObject({ has_password: false, look: { colour: null, welcome: "Hello, what is it?" } });
  const local = await page.evaluate<string>("new Date('2030-01-02T03:04').toISOString()");
  expect(Date.parse(changed.expires_at)).toBe(Date.parse(local));

  await page.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByRole("button", { name: "Revoke page" }).click();
  await page.getByRole("region", { name: "Pages", exact: true }).getByText("Revoked").waitFor();
  expect((await pages())[0].status).toBe("revoked");
  await checkBothLooks(page, "pages");
  await context.close();

  // Only admins of the project publish; others see what there is.
  const { page: viewer, context: other } = await signedIn(browser, tenant, "viewer", `/flows/${project_id}/pages`);
  await viewer.getByRole("button", { name: "Ask <b>us</b>" }).waitFor();
  expect(await viewer.getByRole("button", { name: /Publish|Edit|Revoke/ }).count()).toBe(0);
  await other.close();
}, 120_000);
