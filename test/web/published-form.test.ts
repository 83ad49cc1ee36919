import { describe, expect, it } from "vitest";
import { flow } from "../engine/support.ts";
import { checkBothLooks, violations } from "./support/console.ts";
import { publishPage, urlOf, visit } from "./support/published-pages.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

/** A flow with several kinds of inputs, an approval, and two outputs. */
const refund = () =>
  flow(
    [
      { id: "in-0", type: "input", name: "What happened?" },
      { id: "string-0", type: "string", name: "Order number", config: { required: false, default: "none" } },
      { id: "doc-0", type: "files", name: "Invoice", config: { accept: ["text/plain"], description: "The invoice" } },
      {
        id: "approval-0",
        type: "approval",
        config: {
          message: "Refund **180 EUR**?",
          form: { type: "object", required: ["iban"], properties: { iban: { type: "string", title: "IBAN" } } },
        },
      },
      { id: "out-0", type: "output", name: "Letter", config: { value: "Dear *customer*: {{in-0}} {{doc-0.text}}" } },
      { id: "out-1", type: "output", name: "Details", config: { value: "{{approval-0.data.iban}}" } },
    ],
    [
      "in-0>approval-0",
      "string-0>approval-0",
      "doc-0>out-0",
      "approval-0:approve>out-0",
      "approval-0:approve>out-1",
      "approval-0:reject>out-0",
    ],
  );

describe("a form page on a phone", () => {
  it("asks, uploads, asks back in the middle, and shows the results, after a reload too", async () => {
    const look = { name: "Refunds", colour: "#ffe600", welcome: "Tell us what went wrong.\n<b>We read it.</b>" };
    const published = await publishPage(tenant, refund(), { look, visitor_pauses: ["approval-0"] });
    const { page, context } = await visit(browser, urlOf(tenant, published));
    await page.getByText("<b>We read it.</b>").waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Correct the marked fields").waitFor();
    await page.getByLabel("What happened?").fill("It broke");
    await page
      .getByLabel(/^Invoice/)
      .setInputFiles({ name: "invoice.txt", mimeType: "text/plain", buffer: Buffer.from("Paid 180") });
    await page.getByRole("button", { name: "Remove invoice.txt" }).waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    const question = page.getByRole("form", { name: "Question" });
    await question.getByText("180 EUR").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await question.getByRole("button", { name: "Approve" }).click();
    await question.getByText("Correct the marked fields").waitFor();
    await question.getByLabel("IBAN").fill("DE00");
    await question.getByRole("button", { name: "Approve" }).click();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText("Dear customer: It broke").waitFor();
    await result.getByText("Paid 180").waitFor();
    await result.getByText("DE00").waitFor();
    await checkBothLooks(page, "form");
    await page.reload();
    await result.getByText("DE00").waitFor();
    expect(await context.cookies()).toEqual([]);
  });

  it("opens with its password only, and asks for it again when it has changed", async () => {
    const published = await publishPage(tenant, refund(), { password: "tulip and harbour", look: { name: "Private" } });
    const { page } = await visit(browser, urlOf(tenant, published));
    expect(await page.getByLabel("What happened?").count()).toBe(0);
    await page.getByLabel("Password").fill("something else");
    await page.getByRole("button", { name: "Open the page" }).click();
    await page.getByText("This password is not right.").waitFor();
    await checkBothLooks(page, "password");
    await page.getByLabel("Password").fill("tulip and harbour");
    await page.keyboard.press("Enter");
    await page.getByLabel("What happened?").waitFor();
    await page.reload();
    await page.getByLabel("What happened?").fill("kept");
    await tenant.secret.patch(published.path, { password: "another harbour" });
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByLabel("Password").waitFor();
  });
});
