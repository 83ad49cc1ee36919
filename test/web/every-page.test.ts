import { readFileSync, readdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { checkBothLooks, signedIn, visit } from "./support/console.ts";
import { everyPage, expectHarmless } from "./support/every-page.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

/** Parts of e-mail addresses that are broken over several lines. */
const BROKEN_WORDS = `[...document.querySelectorAll(".email")].flatMap((address) => [...address.childNodes])
  .filter((part) => part.nodeType === Node.TEXT_NODE)
  .flatMap((part) => {
    const range = document.createRange();
    range.selectNodeContents(part);
    return range.getClientRects().length > 1 ? [part.textContent] : [];
  })`;

useConsole();

describe("every page", () => {
  let pages: Awaited<ReturnType<typeof everyPage>>["pages"];
  beforeAll(async () => {
    ({ pages } = await everyPage());
  });

  it("is in the list of pages under test", () => {
    const folder = new URL("../../web/pages/", import.meta.url);
    const lists = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      /^\w+\/index\.ts$/.test(name),
    );
    const table = lists.map((name) => readFileSync(new URL(name, folder), "utf8")).join("");
    const routes = [...table.matchAll(/ page\(\s*"([^"]+)"/g)].map(([, path]) => path ?? "");
    expect(routes).toContain("/runs/:runId");
    const seen = pages.map(([path]) => path.replace(/\?.*/, ""));
    const isSeen = (route: string): boolean => {
      const matches = new RegExp(`^${route.replaceAll(/\/:\w+\?/g, "(/[^/]+)?").replaceAll(/:\w+/g, "[^/]+")}$`);
      return seen.some((path) => matches.test(path));
    };
    expect(routes.filter((route) => !isSeen(route))).toEqual([]);
    // The router has no other routes.
    const router = readFileSync(new URL("../../web/shell/routing.tsx", import.meta.url), "utf8");
    expect(router.match(/path=[^ ]+/g)).toEqual(["path={page.path}", 'path="*"']);
  });

  it("console-xss: runs no injected script and has no axe violation, light and wide, dark and narrow", async () => {
    const { page } = await signedIn(browser, tenant, "admin");
    for (const [turn, [path, [role, name]]] of pages.entries()) {
      await visit(page, path);
      await page.getByRole(role, { name, exact: true }).first().waitFor();
      await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
      await expectHarmless(page, path, turn);
      // In a narrow window, the navigation is behind a button.
      await page.setViewportSize({ width: 1280, height: 800 });
      const marked = page.getByRole("navigation", { name: "Pages" }).locator('[aria-current="page"]');
      const places = await Promise.all((await marked.all()).map((link) => link.getAttribute("href")));
      expect(places, path).toEqual(placeOf(path));
    }
  }, 400_000);

  it("opens the navigation on a phone below one line, and closes it with Escape, outside and on another page", async () => {
    const { page } = await signedIn(browser, tenant, "admin", "/retention", { width: 360 });
    const nav = page.getByRole("navigation", { name: "Pages" });
    const menu = page.getByRole("button", { name: "Menu" });
    const { height = 0 } = (await page.locator("header").boundingBox()) ?? {};
    expect(height).toBeLessThan(60);
    expect(await nav.isVisible()).toBe(false);
    await menu.click();
    expect(await nav.locator('[aria-current="page"]').allInnerTexts()).toEqual(["Retention"]);
    await checkBothLooks(page, "open menu");
    await page.setViewportSize({ width: 360, height: 800 });
    await page.keyboard.press("Escape");
    await nav.waitFor({ state: "hidden" });
    expect(await menu.evaluate((button) => button === button.ownerDocument.activeElement)).toBe(true);
    await menu.click();
    await page.mouse.click(180, 790);
    await nav.waitFor({ state: "hidden" });
    await menu.click();
    await nav.getByRole("link", { name: "Access" }).click();
    await page.getByRole("region", { name: "Users", exact: true }).waitFor();
    expect(await nav.isVisible()).toBe(false);
    expect(await page.title()).toBe("Access · Millrace");
    await page.locator(".email").first().waitFor();
    expect(await page.evaluate(BROKEN_WORDS)).toEqual([]);
    // The current tab is scrolled into view after it has been drawn.
    await visit(page, "/access?tab=audit");
    const tab = page.locator('.tabs [aria-current="page"]', { hasText: "Audit log" });
    const right = async (): Promise<number> => {
      const { x = 0, width = 400 } = (await tab.boundingBox()) ?? {};
      return x + width;
    };
    await expect.poll(right).toBeLessThanOrEqual(360);
  });
});

/** The entries that the navigation marks as current. */
function placeOf(path: string): string[] {
  const [, first = ""] = /^\/(\w*)/.exec(path) ?? [];
  return first === "nothing" ? [] : [`/console${first && `/${first}`}`];
}
