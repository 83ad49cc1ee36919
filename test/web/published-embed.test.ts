import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Page } from "playwright-core";
import { echo } from "../api/tenant.ts";
import type { Published } from "../api/pages/published.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { openWindow, violations } from "./support/console.ts";
import { publishPage } from "./support/published-pages.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let shop: HttpTarget;
let foreign: HttpTarget;
let published: Published;
beforeAll(async () => {
  [shop, foreign] = await Promise.all([startHttpTarget(), startHttpTarget()]);
  published = await publishPage(tenant, echo(), { kind: "chat", origins: [shop.url], look: { name: "Help" } });
  const token = published.door.split("/").at(-1);
  const script = `<script src="${tenant.target.url}/embed.js" data-page="${token}" data-label="Ask <us>" data-colour="#ffe600" defer></script>`;
  const html = `<!doctype html><html lang="en"><title>Shop</title><main><h1>Shop</h1></main>${script}</html>`;
  for (const site of [shop, foreign])
    site.on("/", (_, response) => {
      // The site's own policy allows no styles of others.
      const policy = `default-src 'self'; script-src ${tenant.target.url}; frame-src ${tenant.target.url}; style-src 'self'`;
      response.writeHead(200, { "content-type": "text/html", "content-security-policy": policy }).end(html);
    });
});
afterAll(() => Promise.all([shop.close(), foreign.close()]));

const focused = (page: Page): Promise<string> =>
  page.evaluate<string>("(document.activeElement?.shadowRoot?.activeElement ?? document.activeElement).tagName");

describe("the embed script", () => {
  it("opens the page on an allowed origin, with the keyboard alone", async () => {
    for (const theme of ["light", "dark"] as const) {
      const { page, context } = await openWindow(browser, { width: 360, theme });
      await page.goto(shop.url);
      const button = page.getByRole("button", { name: "Ask <us>", expanded: false });
      await button.focus();
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog", { name: "Ask <us>" });
      const frame = page.frameLocator("iframe");
      const message = frame.getByRole("textbox", { name: "Message" });
      await message.fill("Hello");
      await frame.getByRole("button", { name: "Send" }).click();
      await frame.locator(".chat-answer").getByText("Hello").waitFor();
      expect(await violations(page)).toEqual([]);
      // Escape inside of the frame, and the conversation is still there afterwards.
      await message.press("Escape");
      await dialog.waitFor({ state: "hidden" });
      expect(await focused(page)).toBe("BUTTON");
      await page.keyboard.press("Enter");
      await frame.locator(".chat-answer").getByText("Hello").waitFor();
      await page.getByRole("button", { name: "Close" }).press("Escape");
      await dialog.waitFor({ state: "hidden" });
      expect(await context.cookies()).toEqual([]);
      await context.close();
    }
  });

  it("shows a link instead of the page on any other origin", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(foreign.url);
    await page.getByRole("button", { name: "Ask <us>" }).click();
    await page.locator("iframe").waitFor();
    await page.clock.fastForward(10_000);
    await page.getByText("This page cannot be shown here.").waitFor();
    const link = page.getByRole("link", { name: "Open it in a new tab" });
    expect(await link.getAttribute("href")).toBe(tenant.target.url + published.door);
    expect(page.frames().some((frame) => frame.url().includes("/f/"))).toBe(false);
  });
});
