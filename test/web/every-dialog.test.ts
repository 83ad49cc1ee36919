import { expect, it } from "vitest";
import { signedIn, visit } from "./support/console.ts";
import { everyPage, expectHarmless } from "./support/every-page.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

it("console-xss: every dialog runs no injected script and has no axe violation", async () => {
  const { dialogs } = await everyPage();
  const { page } = await signedIn(browser, tenant, "admin");
  for (const [at, [path, open]] of dialogs.entries()) {
    await visit(page, "/nothing");
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    await visit(page, path);
    await page.getByRole("heading", { name: "Page not found" }).waitFor({ state: "detached" });
    await page.getByRole("heading", { level: 1 }).waitFor();
    await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
    await open(page);
    await page.getByRole("dialog").waitFor();
    await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
    await expectHarmless(page, `dialog ${at} of ${path}`, at);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
}, 400_000);
