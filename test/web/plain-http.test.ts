import { describe, expect, it } from "vitest";
import { signedIn, text, visit } from "./support/console.ts";
import { pausedRun } from "./support/pauses.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

describe("by http and another name than localhost, where browsers give pages less", () => {
  it("one decides, runs again, acts on many, and copies by hand", async () => {
    const { pause_id, run_id } = await pausedRun(tenant);
    const url = tenant.target.url.replace("127.0.0.1", "console.test");
    const elsewhere = { ...tenant, target: { ...tenant.target, url } };
    const { page, context } = await signedIn(browser, elsewhere, "editor", `/inbox/${pause_id}`);
    expect(await page.evaluate("isSecureContext")).toBe(false);

    await page.getByRole("button", { name: "Copy link" }).click();
    const copied = page.getByRole("textbox", { name: "link to this pause, to be copied with Ctrl C" });
    expect(await copied.inputValue()).toBe(`${url}/console/inbox/${pause_id}`);
    await expect.poll(() => page.evaluate("getSelection().toString()")).toBe(`${url}/console/inbox/${pause_id}`);
    await page.getByLabel("Amount").fill("5");
    await copied.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Approve" }).click();
    await text(page, /by you/);
    await tenant.until(run_id, "COMPLETED");

    await visit(page, `/runs/${run_id}`);
    await page.getByRole("button", { name: "Run again…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForURL((at) => at.pathname.startsWith("/console/runs/") && !at.pathname.endsWith(run_id));
    await visit(page, "/runs?state=COMPLETED");
    await page.getByText("All that match…").click();
    await page.getByRole("button", { name: "Run all again…" }).click();
    await page.getByRole("button", { name: "Run again 1 run" }).click();
    await text(page, "Running again: done");
    await context.close();
  });
});
