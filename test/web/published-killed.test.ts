import { chromium } from "playwright-core";
import { expect, it } from "vitest";
import { startModelStub } from "../../src/dev/model-stub.ts";
import { openTenant } from "../api/tenant.ts";
import { startService } from "../support/service.ts";
import { launchBrowser } from "./support/browser.ts";
import { answering, lastAnswer, publishPage, say, urlOf, visit } from "./support/published-pages.ts";

it("shows the rest of an answer after the API was killed in its middle", async () => {
  const [launched, own, stub] = await Promise.all([launchBrowser(), startService(), startModelStub()]);
  const browser = await chromium.connect(launched.endpoint);
  try {
    const tenant = await openTenant(own);
    const published = await publishPage(tenant, await answering(tenant, stub), { kind: "chat" });
    const { page, context } = await visit(browser, urlOf(tenant, published));
    stub.next({ text: ["One. ", "Two. ", "Three."], pauseMs: 3000 });
    await say(page, "Count to three");
    await lastAnswer(page).getByText("One.").waitFor();
    await own.api[0]?.kill();
    await page.getByText("Connection lost.").waitFor();
    // What is written meanwhile is neither lost nor sent.
    await page.getByRole("textbox", { name: "Message" }).fill("And then?");
    await own.api[0]?.restart();
    await lastAnswer(page).getByText("Three.").waitFor();
    expect(await lastAnswer(page).locator(".chat-text").innerText()).toBe("One. Two. Three.");
    expect(await page.getByText("Connection lost.").count()).toBe(0);
    expect(await page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("And then?");
    expect(stub.calls.filter(({ path }) => path === "/v1/chat/completions")).toHaveLength(1);
    await context.close();
  } finally {
    await browser.close();
    await Promise.all([launched.close(), own.close(), stub.close()]);
  }
});
