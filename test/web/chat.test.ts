import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { checkBothLooks, signedIn, visit } from "./support/console.ts";
import { indexedDocument } from "./support/handbook.ts";
import { startHeldModel, type HeldModel } from "./support/held-model.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let model: HeldModel;
beforeAll(async () => {
  model = await startHeldModel(tenant);
});
afterAll(() => model.close());

type Nodes = Parameters<typeof flow>[0];
const llm = (prompt: string, more: object = {}): Nodes[number] => ({
  id: "llm-0",
  type: "llm",
  config: { model: "m", connection_id: model.connection_id, prompt, ...more },
});
const talk = (): Promise<string> =>
  tenant.deploy(
    flow(
      [{ id: "in-0", type: "input" }, llm("{{in-0}}"), { id: "out-0", type: "output" }],
      ["in-0>llm-0", "llm-0>out-0"],
    ),
  );

async function openChat(project_id: string, role: "editor" | "viewer" = "editor"): Promise<Page> {
  const { page } = await signedIn(browser, tenant, role, `/flows/${project_id}/chat`);
  return page;
}
const field = (page: Page) => page.getByRole("textbox", { name: "Message" });
const messages = (page: Page) => page.getByRole("region", { name: "Messages" });
async function say(page: Page, question: string): Promise<void> {
  await field(page).fill(question);
  await page.keyboard.press("Enter");
}

it("answers with documents and sources while the model writes, continues after a reload, and keeps the conversation", async () => {
  const clothes = "Gloves are red in winter, and they are made of wool from the north of the country.";
  const hats = "Hats are blue on Mondays.";
  const knowledge_base_id = await indexedDocument(tenant, "hats.txt", `${clothes}\n\n${hats}\n\n${clothes}`);
  const project_id = await tenant.deploy(
    flow(
      [
        { id: "in-0", type: "input", name: "Question" },
        { id: "doc-0", type: "files" },
        { id: "kb-0", type: "knowledge", config: { knowledge_base_id, query: "{{in-0}}", top_k: 1 } },
        llm("{{kb-0}}\n{{doc-0.text}}\n{{in-0}}", { memory: { turns: 5 } }),
        { id: "out-0", type: "output" },
      ],
      ["in-0>kb-0", "kb-0>llm-0", "doc-0>llm-0", "llm-0>out-0"],
    ),
  );
  const page = await openChat(project_id);
  await page.getByText("No conversations yet").waitFor();
  await page.locator("input[type=file]").setInputFiles({
    name: "order.txt",
    mimeType: "text/plain",
    buffer: Buffer.from("My order is number 4711."),
  });
  await page.getByRole("list", { name: "Files" }).getByText("order.txt").waitFor();
  await say(page, "Which hats are blue?");
  const first = await model.next();
  expect(first.asked).toContain("number 4711");
  expect(first.asked).toContain("Hats are blue");
  first.write("**Blue** on ");
  await messages(page).getByText("Blue on").waitFor();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.reload();
  await messages(page).getByText("Blue on").waitFor();
  first.write("Mondays [1].");
  await messages(page).getByText("Blue on Mondays").waitFor();
  first.end();
  await page.getByRole("button", { name: "Send" }).waitFor();
  expect(await messages(page).locator("strong").allInnerTexts()).toContain("Blue");

  await messages(page)
    .getByText(/^1 step in/)
    .click();
  await messages(page).getByText("Search: kb-0").click();
  await messages(page).getByRole("group", { name: "Result of kb-0" }).waitFor();
  await checkBothLooks(page, "chat");
  await page.setViewportSize({ width: 1280, height: 800 });
  await messages(page).getByRole("button", { name: "Source 1" }).click();
  const source = page.getByRole("dialog", { name: "Source" });
  await source.getByText("hats.txt").waitFor();
  const marked = await source.locator("mark").innerText();
  expect(marked).toContain(hats);
  expect(marked.length).toBeLessThan(120);
  expect(await source.getByRole("link", { name: "Open the document" }).getAttribute("href")).toContain("/download");
  await checkBothLooks(page, "source");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Helpful", exact: true }).click();
  await page.locator("[aria-pressed=true]", { hasText: "Helpful" }).waitFor();
  const { body: scores } = await tenant.secret.get("/v2/evals/scores", { query: { project_id, name: "feedback" } });
  expect(scores.data).toMatchObject([{ value: true, source: "human" }]);

  await say(page, "And gloves?");
  const second = await model.next();
  // The model remembers the conversation.
  expect(second.asked).toContain("Which hats are blue?");
  second.write("Red.");
  second.end();
  await messages(page).getByText("Red.").waitFor();
  await page.getByRole("button", { name: "Send" }).waitFor();

  const listed = page.getByRole("navigation", { name: "Conversations" });
  await listed.getByRole("link", { name: /Which hats are blue/ }).waitFor();
  await listed.getByRole("button", { name: /^Rename/ }).click();
  await page.getByRole("textbox", { name: "Title" }).fill("Hats & gloves");
  await page.keyboard.press("Enter");
  await listed.getByRole("link", { name: "New conversation" }).click();
  await listed.getByRole("link", { name: /Hats & gloves/ }).click();
  await messages(page).getByText("Blue on Mondays").waitFor();
  await page.locator("[aria-pressed=true]", { hasText: "Helpful" }).waitFor();
  await listed.getByRole("button", { name: /^Delete/ }).click();
  await page.getByRole("button", { name: "Delete conversation" }).click();
  await page.getByText("No conversations yet").waitFor();
  await messages(page).getByText("Blue on Mondays").waitFor({ state: "detached" });
  expect(new URL(page.url()).pathname).toMatch(/\/chat$/);
}, 120_000);

it("asks for an approval in the middle of an answer", async () => {
  const project_id = await tenant.deploy(
    flow(
      [
        { id: "in-0", type: "input" },
        llm("{{in-0}}"),
        { id: "approval-0", type: "approval", config: { message: "Send **{{llm-0}}**?" } },
        { id: "out-0", type: "output", config: { value: "{{llm-0}} ({{approval-0.action}})" } },
      ],
      ["in-0>llm-0", "llm-0>approval-0", "approval-0:approve>out-0"],
    ),
  );
  const page = await openChat(project_id);
  await say(page, "Write to Ada");
  const answer = await model.next();
  answer.write("Dear Ada");
  answer.end();
  const approval = messages(page).getByRole("article", { name: "Approval approval-0" });
  await approval.getByText("Send Dear Ada?").waitFor();
  // The next question has to wait for this one.
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await checkBothLooks(page, "approval in a chat");
  await page.reload();
  await approval.getByRole("button", { name: "Approve" }).click();
  await messages(page).getByText("Dear Ada (approve)").waitFor();
  await page.getByRole("button", { name: "Send" }).waitFor();
}, 90_000);

it("stops an answer, and says why there is none", async () => {
  const project_id = await talk();
  const page = await openChat(project_id);
  await say(page, "Tell me everything");
  const answer = await model.next();
  answer.write("It began");
  await messages(page).getByText("It began").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await messages(page).getByText("Stopped.").waitFor();
  answer.end();
  await page.getByRole("button", { name: "Send" }).waitFor();

  // A viewer reads, and a flow without text says what a chat needs.
  const viewer = await openChat(project_id, "viewer");
  await viewer.getByText("Your role can read this conversation").waitFor();
  await viewer.context().close();
  const fields = flow(
    [
      { id: "img-0", type: "image", config: { mode: "ocr" } },
      { id: "out-0", type: "output" },
    ],
    ["img-0>out-0"],
  );
  await visit(page, `/flows/${await tenant.deploy(fields)}/chat`);
  await page.getByRole("heading", { name: "This flow is not a chat" }).waitFor();
  await page.getByText("text input").waitFor();
}, 90_000);

it("console-xss: shows hostile output of a model as text, however long", async () => {
  const project_id = await talk();
  const page = await openChat(project_id);
  await say(page, "<img src=x onerror=alert(1)>");
  const answer = await model.next();
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  answer.write(
    [
      "<script>alert(1)</script><img src=x onerror=alert(2)><iframe src='javascript:alert(3)'></iframe>",
      "[click](javascript:alert(4)) [data](data:text/html,<script>alert(5)</script>) ![pixel](https://example.com/p.png)",
      "[good](https://example.com/read) [bank](https://evil.example/bank)\u202e",
      "",
      `${"> ".repeat(2000)}${"- ".repeat(2000)}${"*a **b ".repeat(2000)}`,
      "",
      `${"|a".repeat(400)}\n${"|-".repeat(400)}\n${"a|\n".repeat(4000)}`,
      "",
    ].join("\n\n"),
  );
  await messages(page).getByText("<script>alert(1)</script>").waitFor();
  // More than a megabyte, in pieces as a model writes them.
  for (let sent = 0; sent < 1_100_000; sent += 10_000) answer.write("`[a](**x** <b>".repeat(715));
  answer.end();
  await page.getByRole("button", { name: "Send" }).waitFor({ timeout: 60_000 });
  await messages(page)
    .getByText(/more characters, unformatted/)
    .waitFor();

  expect(await messages(page).locator("img, script, iframe, [onerror]").count()).toBe(0);
  const hrefs = await messages(page)
    .locator("article a[target=_blank]")
    .evaluateAll((all) => all.map((each) => [each.getAttribute("href"), each.getAttribute("rel")]));
  expect(hrefs).toEqual([
    ["https://example.com/p.png", "noopener noreferrer"],
    ["https://example.com/read", "noopener noreferrer"],
    ["https://evil.example/bank", "noopener noreferrer"],
  ]);
  await messages(page).getByText("(evil.example)").waitFor();
  await messages(page).getByText("⟨U+202E⟩").waitFor();
  expect(requests.filter((url) => !url.startsWith(tenant.target.url))).toEqual([]);
  // The page stays usable: a key is drawn at once, and the rest of the text can be shown.
  await field(page).fill("");
  const began = Date.now();
  await page.keyboard.type("still here");
  expect(await field(page).inputValue()).toBe("still here");
  expect(Date.now() - began).toBeLessThan(3000);
  await messages(page).getByRole("button", { name: "Show more" }).click();
  await messages(page)
    .getByText(/more characters, unformatted/)
    .waitFor();
}, 120_000);

it("is reached from the flow, talks to the draft, and keeps what could not be sent", async () => {
  const project_id = await tenant.deploy(echo());
  const { page, context } = await signedIn(browser, tenant, "editor", `/flows/${project_id}`);
  await page.getByRole("link", { name: "Chat" }).click();
  await context.route("**/v2/runs", (route) => route.abort());
  await say(page, "Are you there?");
  await page.getByText("Cannot reach the server").waitFor();
  expect(await field(page).inputValue()).toBe("Are you there?");
  await context.unroute("**/v2/runs");
  await page.getByRole("button", { name: "Send" }).click();
  await messages(page).getByRole("article").nth(1).getByText("Are you there?").waitFor();
  const changed = echo();
  const nodes = changed.nodes.map((node) =>
    node.id === "out-0" ? { ...node, config: { value: "draft: {{in-0}}" } } : node,
  );
  await tenant.secret.put(`/v2/projects/${project_id}/draft`, { flow: { ...changed, nodes } });
  await visit(page, `/flows/${project_id}/chat?with=draft`);
  await say(page, "Hello");
  await messages(page).getByText("draft: Hello").waitFor();
  const { body: runs } = await tenant.secret.get("/v2/runs", { query: { project_id } });
  expect(runs.data.map(({ run_type }: { run_type: string }) => run_type)).toEqual(["draft", "api"]);
}, 90_000);
