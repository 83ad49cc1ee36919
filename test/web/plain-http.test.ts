import { describe, expect, it } from "vitest";
import { signedIn, text, visit } from "./support/console.ts";
import { pausedRun } from "./support/pauses.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

describe("over plain HTTP on a host other than localhost, where browsers disable some features", () => {
  it("users can decide, rerun, use bulk actions, and copy manually", async () => {
    const { pause_id, run_id } = await pausedRun(tenant);
    const url = tenant.target.url.replace("127.0.0.1", "console.test");
    const elsewhere = { ...tenant, target: { ...tenant.target, url } };
    const { page } = await signedIn(browser, elsewhere, "editor", `/inbox/${pause_id}`);
    expect(await page.evaluate("isSecureContext")).toBe(false);

    await page.getByRole("button", { name: "Copy link" }).click();
    const copied = page.getByRole("textbox", { name: "link to this approval: press Ctrl+C to copy" });
    expect(await copied.inputValue()).toBe(`${url}/console/inbox/${pause_id}`);
    await expect.poll(() => page.evaluate("getSelection().toString()")).toBe(`${url}/console/inbox/${pause_id}`);
    await page.getByLabel("Amount").fill("5");
    await copied.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Approve" }).click();
    await text(page, /by you/);
    await tenant.until(run_id, "COMPLETED");

    await visit(page, `/runs/${run_id}`);
    await page.getByRole("button", { name: "Rerun…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Rerun", exact: true }).click();
    await page.waitForURL((at) => at.pathname.startsWith("/console/runs/") && !at.pathname.endsWith(run_id));
    await visit(page, "/runs?state=COMPLETED");
    await page.getByText("All matching runs").click();
    await page.getByRole("button", { name: "Rerun…" }).click();
    await page.getByRole("button", { name: "Rerun 1 run" }).click();
    await text(page, "Rerunning runs: completed");
  });
});
