import { chromium } from "playwright-core";
import { expect, it } from "vitest";
import { openTenant } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { startService } from "../support/service.ts";
import { launchBrowser } from "./support/browser.ts";
import { expectNoFaults, signedIn } from "./support/console.ts";
import { startHeldModel } from "./support/held-model.ts";

it("continues an answer after the API process was killed in the middle of it", async () => {
  const [launched, service] = await Promise.all([launchBrowser(), startService()]);
  const tenant = await openTenant(service);
  const model = await startHeldModel(tenant);
  const browser = await chromium.connect(launched.endpoint);
  try {
    const config = { model: "m", connection_id: model.connection_id, prompt: "{{in-0}}" };
    const project_id = await tenant.deploy(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "llm-0", type: "llm", config },
          { id: "out-0", type: "output" },
        ],
        ["in-0>llm-0", "llm-0>out-0"],
      ),
    );
    const { page } = await signedIn(browser, tenant, "editor", `/flows/${project_id}/chat`);
    const messages = page.getByRole("region", { name: "Messages" });
    await page.getByRole("textbox", { name: "Message" }).fill("Count");
    await page.keyboard.press("Enter");
    const answer = await model.next();
    answer.write("one two ");
    await messages.getByText("one two").waitFor();
    const [api] = service.api;
    await api?.kill();
    await messages.getByText("Reconnecting").waitFor();
    // What was written stays on the page, and what the model writes meanwhile is not lost.
    await messages.getByText("one two").waitFor();
    answer.write("three ");
    await api?.restart();
    await messages.getByText("one two three").waitFor();
    answer.write("four");
    answer.end();
    await messages.getByText("one two three four").waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    expect(await messages.getByRole("article").allInnerTexts()).toHaveLength(2);
    await page.context().close();
    expectNoFaults();
  } finally {
    await browser.close();
    await Promise.all([launched.close(), service.close(), model.close()]);
  }
}, 240_000);
