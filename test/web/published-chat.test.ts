import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import type { Published } from "../api/pages/published.ts";
import { asking } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { checkBothLooks } from "./support/console.ts";
import { answering, lastAnswer, publishPage, say, urlOf, visit } from "./support/published-pages.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let stub: ModelStub;
let published: Published;
beforeAll(async () => {
  stub = await startModelStub();
  published = await publishPage(tenant, await answering(tenant, stub), {
    kind: "chat",
    look: { name: "Help", colour: "#000000" },
  });
});
afterAll(() => stub.close());

/** So slow that a test can act between two pieces. */
const SLOWLY = { text: ["One. ", "Two. ", "Three."], pauseMs: 1200 };

describe("a chat page", () => {
  it("shows an answer as it is written, and once only after a reload in its middle", async () => {
    const { page } = await visit(browser, urlOf(tenant, published));
    stub.next(SLOWLY);
    await say(page, "Count to three");
    await lastAnswer(page).getByText("One.").waitFor();
    expect(await lastAnswer(page).innerText()).not.toContain("Three.");
    await page.reload();
    await lastAnswer(page).getByText("Three.").waitFor();
    expect(await lastAnswer(page).locator(".chat-text").innerText()).toBe("One. Two. Three.");
    expect(stub.calls.filter(({ body }) => JSON.stringify(body).includes("Count to three"))).toHaveLength(1);
    await page.getByRole("button", { name: "Helpful", exact: true }).click();
    await page.getByRole("button", { name: "Helpful", exact: true, pressed: true }).waitFor();
    await checkBothLooks(page, "chat");
  });

  it("stops an answer, and keeps what was written", async () => {
    const { page } = await visit(browser, urlOf(tenant, published));
    stub.next({ text: ["Started. ", ...Array.from({ length: 2000 }, () => "more ")], pauseMs: 300 });
    await say(page, "Write without end");
    await lastAnswer(page).getByText("Started.").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped.").waitFor();
    await lastAnswer(page).getByText("Started.").waitFor();
    stub.next({ text: ["Here I am."] });
    await say(page, "Are you there?");
    await lastAnswer(page).getByText("Here I am.").waitFor();
  });

  it("asks the visitor in the middle of an answer", async () => {
    const form = { type: "object", properties: { note: { type: "string", title: "Note" } } };
    const fields = { kind: "chat", visitor_pauses: ["approval-0"] };
    const asked = await publishPage(tenant, asking({ message: "Really **{{in-0}}**?", form }), fields);
    const { page } = await visit(browser, urlOf(tenant, asked));
    await say(page, "send it");
    await page.getByRole("form", { name: "Question" }).getByText("send it").waitFor();
    await page.reload();
    await page.getByLabel(/Note/).fill("today");
    await page.getByRole("button", { name: "Approve" }).click();
    await lastAnswer(page).getByText('yes {"note":"today"}').waitFor();
  });

  it("lists, renames and deletes the conversations of its own browser, and shows no other's", async () => {
    const one = await visit(browser, urlOf(tenant, published));
    const other = await visit(browser, urlOf(tenant, published));
    stub.answer(({ body }) => ({ text: [`You said ${JSON.stringify(body.messages.at(-1).content)}.`] }));
    await say(one.page, "my secret is tulip");
    await lastAnswer(one.page).getByText("You said").waitFor();
    await say(other.page, "my secret is harbour");
    await lastAnswer(other.page).getByText("You said").waitFor();
    // The address of a conversation leads nowhere in another browser.
    const { hash } = new URL(one.page.url());
    await other.page.goto("about:blank");
    await other.page.goto(urlOf(tenant, published) + hash);
    await other.page.getByText("Write a message to begin.").waitFor();
    expect(await other.page.content()).not.toContain("tulip");
    await other.page.getByRole("button", { name: "Conversations" }).click();
    await other.page.getByRole("button", { name: /^my secret is harbour/ }).waitFor();
    expect(await other.page.content()).not.toContain("tulip");
    await other.context.close();

    const { page } = one;
    await page.getByRole("button", { name: "Conversations" }).click();
    await page.getByRole("button", { name: "Rename my secret is tulip" }).click();
    await page.getByLabel("Title").fill("Flowers");
    await page.getByRole("button", { name: "Save title" }).click();
    await page.getByRole("button", { name: /^Flowers/ }).waitFor();
    await page.getByRole("button", { name: "Delete Flowers" }).click();
    await page.getByRole("button", { name: "Delete conversation" }).click();
    await page.getByText("No conversations yet").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    expect(await page.locator(".chat-answer").count()).toBe(0);
  });

  it("says within five seconds that it was withdrawn, in the middle of an answer and while nothing happens", async () => {
    const closing = await publishPage(tenant, await answering(tenant, stub), { kind: "chat" });
    const busy = await visit(browser, urlOf(tenant, closing));
    const idle = await visit(browser, urlOf(tenant, closing));
    stub.next({ text: Array.from({ length: 200 }, () => "word "), pauseMs: 300 });
    await say(busy.page, "Talk");
    await lastAnswer(busy.page).getByText("word").waitFor();
    await tenant.secret.delete(closing.path);
    const closed = [busy, idle].map(({ page }) =>
      page.getByRole("heading", { name: "This page is closed" }).waitFor({ timeout: 6000 }),
    );
    await Promise.all(closed);
    expect(await busy.page.content()).not.toContain("word");
    const answer = await idle.page.reload();
    expect(answer?.status()).toBe(410);
    expect((await idle.page.innerText("body")).trim()).toBe("This page is no longer available.");
  });

  it("reads files of its own conversation, and says why it does not take others", async () => {
    const reading = flow(
      [
        { id: "in-0", type: "input", name: "Question" },
        { id: "doc-0", type: "files", name: "Notes", config: { accept: ["text/plain"] } },
        { id: "out-0", type: "output", name: "Answer", config: { value: "{{in-0}} {{doc-0.text}}" } },
      ],
      ["in-0>out-0", "doc-0>out-0"],
    );
    const { page } = await visit(browser, urlOf(tenant, await publishPage(tenant, reading, { kind: "chat" })));
    const files = page.getByRole("list", { name: "Files" });
    const upload = (name: string, mimeType: string, content: string | Buffer) =>
      page
        .getByLabel("Files", { exact: true })
        .and(page.locator("input"))
        .setInputFiles({ name, mimeType, buffer: Buffer.from(content) });
    await upload("well <b>.txt", "text/plain", "The well is dry.");
    await files.getByText("well <b>.txt").waitFor();
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    await upload("picture.txt", "text/plain", png);
    await page.getByRole("alert").first().waitFor();
    await say(page, "Is it?");
    await lastAnswer(page).getByText("Is it? The well is dry.").waitFor();
    await checkBothLooks(page, "a chat with files");
    await page.reload();
    await lastAnswer(page).getByText("The well is dry.").waitFor();
    await say(page, "Still?");
    await lastAnswer(page).getByText("Still? The well is dry.").waitFor();
    await page.getByRole("button", { name: /New/ }).first().click();
    await say(page, "Another?");
    await lastAnswer(page).getByText("Another?").waitFor();
    expect(await lastAnswer(page).innerText()).not.toContain("well");
  });

  it("closes at its end date while it is open", async () => {
    const ending = await publishPage(tenant, await answering(tenant, stub), { kind: "chat" });
    const { page } = await visit(browser, urlOf(tenant, ending));
    const expires_at = new Date(Date.now() + 1500).toISOString();
    expect((await tenant.secret.patch(ending.path, { expires_at })).status).toBe(200);
    await page.getByRole("heading", { name: "This page is closed" }).waitFor({ timeout: 8000 });
    const answer = await page.reload();
    expect(answer?.status()).toBe(410);
    expect((await page.innerText("body")).trim()).toBe("This page is no longer available.");
  });
});
