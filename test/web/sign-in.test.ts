import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { createUser } from "../../src/cli/accounts.ts";
import { address, openWindow, overflow, signedIn, violations } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

describe("signing in", () => {
  it("accepts e-mail address and password, says if one is wrong, and ends with signing out", async () => {
    const email = "console@example.test";
    const user = await tenant.withDatabase((database) =>
      createUser(database, { org_id: tenant.org_id, email, role: "editor" }),
    );
    const { page } = await openWindow(browser);
    await page.goto(address(tenant, "/runs?state=FAILED"));
    await page.getByLabel("Email address").fill(email);
    await page.getByLabel("Password").fill("not it at all");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("The e-mail address or the password is wrong.").waitFor();
    await page.getByLabel("Password").fill(user.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    // The user continues at the requested page.
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe("?state=FAILED");
    expect(await page.evaluate("document.cookie")).toBe("");

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Password").waitFor();
    const me = await page.request.get(`${tenant.target.url}/v2/me`);
    expect(me.status()).toBe(401);
  });

  it("shows the sign-in page if the session was ended elsewhere, and then the same page again", async () => {
    const { page } = await signedIn(browser, tenant, "viewer", "/runs");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    const { body } = await tenant.secret.get("/v2/sessions?page_size=1");
    await tenant.secret.delete(`/v2/sessions/${body.data[0].session_id}`);
    await page.getByLabel("Password").waitFor();
    expect(page.url()).toBe(address(tenant, "/runs"));
  });

  it("with a used sign-in link opens the console if signed in, and otherwise asks to sign in", async () => {
    const { page } = await signedIn(browser, tenant, "viewer", "/runs");
    await page.goto("about:blank");
    await page.goto(address(tenant, "/settings#link=mr_ln_used"));
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    expect(new URL(page.url()).hash).toBe("");
    const nobody = await openWindow(browser);
    await nobody.page.goto(address(tenant, "/settings#link=mr_ln_used"));
    await nobody.page.getByRole("alert").waitFor();
    await nobody.page.getByLabel("Password").waitFor();
  });

  it("keeps the page if the server cannot check the session for a moment", async () => {
    const { page, context } = await openWindow(browser);
    await page.clock.install();
    const { page: other, context: same } = await signedIn(browser, tenant, "viewer", "/runs");
    await context.addCookies(await same.cookies());
    await page.goto(address(tenant, "/settings"));
    await page.getByRole("heading", { name: "Limits" }).waitFor();
    let asked = 0;
    await page.route("**/v2/me", async (route) => {
      asked += 1;
      await route.fulfill({ status: 500 });
    });
    await expect
      .poll(async () => {
        await page.clock.fastForward(61_000);
        await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
        return asked;
      })
      .toBeGreaterThan(4);
    await page.getByRole("heading", { name: "Limits" }).waitFor();
    await other.close();
    await Promise.all([context.close(), same.close()]);
  });

  it("console-csrf: lets a page on another port change nothing with the session", async () => {
    const { page, context } = await signedIn(browser, tenant, "admin");
    const target = `${tenant.target.url}/v2/projects`;
    const foreign = createServer((_, res) => res.setHeader("content-type", "text/html").end("<title>foreign</title>"));
    await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
    try {
      await page.goto(`http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`);
      // Read through the browser's network log, because Cross-Origin-Resource-Policy hides the response from the page and from Playwright.
      const network = await context.newCDPSession(page);
      await network.send("Network.enable");
      const answered = new Promise<number>((resolve) =>
        network.on("Network.responseReceivedExtraInfo", ({ statusCode }) => resolve(statusCode)),
      );
      await page.evaluate(async (url) => {
        const body = new Blob(['{"name":"stolen"}'], { type: "text/plain" });
        await fetch(url, { method: "POST", mode: "no-cors", credentials: "include", body }).catch(() => undefined);
      }, target);
      // 401 if the browser does not send the cookie to another port, 403 if it does.
      expect([401, 403]).toContain(await answered);
      const { body } = await tenant.secret.get("/v2/projects?page_size=200");
      expect(body.data.map((project: { name: string }) => project.name)).not.toContain("stolen");
    } finally {
      foreign.close();
      await context.close();
    }
  });

  it("has no axe violation in both themes", async () => {
    for (const theme of ["light", "dark"] as const) {
      const { page, context } = await openWindow(browser, { theme, width: 360 });
      await page.goto(address(tenant, "/"));
      await page.getByLabel("Password").waitFor();
      expect(await violations(page), theme).toEqual([]);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      await context.close();
    }
  });
});
