import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { asking } from "../api/tenant.ts";
import { address, overflow, signedIn, text, violations, type View } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

async function pausedRun(
  config: Record<string, unknown>,
  input = "it",
): Promise<{ run_id: string; pause_id: string; project_id: string }> {
  const project_id = await tenant.deploy(asking(config));
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": input } });
  const run = await tenant.until(body.run_id, "PAUSED");
  return { run_id: body.run_id, pause_id: run.pauses[0].pause_id, project_id };
}
const open = (page: Page, pauseId: string) => page.goto(address(tenant, `/inbox/${pauseId}`));
const rows = (page: Page) => page.getByRole("navigation", { name: "Waiting approvals" }).getByRole("link");

describe("the assignee of an approval", () => {
  it("can be a list filter in the URL: assigned to me, decidable by me, all", async () => {
    const { page, email } = await signedIn(browser, tenant, "editor", "/inbox");
    await text(page, "No approvals waiting");
    await pausedRun({ message: "Mine", assignees: { users: [email] } });
    await pausedRun({ message: "Theirs", assignees: { roles: ["admin"] } });
    await pausedRun({ message: "Anybody's" });
    const shown = async (...messages: string[]) => {
      await expect.poll(() => page.locator(".inbox-message").allTextContents(), { timeout: 20_000 }).toEqual(messages);
    };
    // New approvals appear in a non-empty list only after "Show" is pressed.
    const taken = async () => {
      const show = page.getByRole("button", { name: "Show", exact: true });
      if ((await show.count()) > 0) await show.click();
      return page.locator(".inbox-message").allTextContents();
    };
    await expect.poll(taken, { timeout: 20_000 }).toEqual(["Mine", "Anybody's"]);
    await page.getByRole("link", { name: "Assigned to me" }).click();
    await shown("Mine");
    expect(page.url()).toBe(address(tenant, "/inbox?show=mine"));
    await page.getByRole("link", { name: "All", exact: true }).click();
    await shown("Mine", "Theirs", "Anybody's");
    await page.reload();
    await shown("Mine", "Theirs", "Anybody's");
    await rows(page).filter({ hasText: "Theirs" }).getByText("Assigned to others").click();
    await page.getByRole("heading", { name: "Theirs" }).waitFor();
    // Opening an approval keeps the filter.
    expect(new URL(page.url()).search).toBe("?show=all");
  });

  it("is shown with the quorum so far, and others get no form", async () => {
    const [one, other, admin] = await Promise.all([
      signedIn(browser, tenant, "editor"),
      signedIn(browser, tenant, "editor"),
      signedIn(browser, tenant, "admin"),
    ]);
    const users = [one.email, other.email];
    const { run_id, pause_id } = await pausedRun({ message: "Go?", assignees: { users }, required_approvals: 2 });
    await open(admin.page, pause_id);
    await text(admin.page, `Only ${one.email}, ${other.email} can decide this.`);
    await text(admin.page, "No decisions yet.");
    expect(await admin.page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    expect(await admin.page.getByLabel(/Comment/).count()).toBe(0);

    await open(one.page, pause_id);
    await text(one.page, `Can decide: you, ${other.email}.`);
    await one.page.getByRole("button", { name: "Approve" }).click();
    await text(one.page, "You have decided. Waiting for other assignees.");
    await text(one.page, "Approve: 1 of 2 (you)");
    await text(admin.page, `Approve: 1 of 2 (${one.email})`);
    await open(other.page, pause_id);
    await other.page.getByRole("button", { name: "Approve" }).click();
    await text(other.page, /by you/);
    await tenant.until(run_id, "COMPLETED");
  });
});

describe("the message of an approval", () => {
  const HOSTILE = [
    "Pay **Ada** `now`? <img src=x onerror=alert(1)>",
    "",
    "- [safe-looking](javascript:alert(1)) and [data](data:text/html,<script>alert(1)</script>)",
    "- [my bank](https://evil.example/login) ![picture](https://evil.example/p.png)",
    "- [ours](/console/access) <https://evil.example/auto>",
    '<iframe src="https://evil.example/3"></iframe> <form action="https://evil.example/4"><button>Sign in</button></form>',
    "<style>body{display:none}</style> \u202Egpj.exe \u200B end",
    "",
    "<script>alert(1)</script>",
    "",
    "| a | b |",
    "|---|---|",
    "| 1 | 2 |",
    "",
    `${">".repeat(500)} deep`,
    "",
    `${"*".repeat(5000)}a${"*".repeat(5000)}`,
  ].join("\n");

  it("is rendered as Markdown without scripts or remote content, and links show their target", async () => {
    const { pause_id } = await pausedRun({ message: "{{in-0}}" }, HOSTILE);
    const { page } = await signedIn(browser, tenant, "editor", "/inbox");
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("evil")) foreign.push(request.url());
    });
    await open(page, pause_id);
    const article = page.getByRole("article");
    await article.getByRole("heading", { name: "Pay Ada now? <img src=x onerror=alert(1)>" }).waitFor();
    expect(await article.locator("h2 strong").textContent()).toBe("Ada");
    await article.getByRole("cell", { name: "2" }).waitFor();
    await article.getByText("<script>alert(1)</script>", { exact: true }).waitFor();
    expect(
      await article
        .locator("img, script, iframe, form form, .markdown :is(style, svg, object, button), [style], [onerror]")
        .count(),
    ).toBe(0);
    const links = await article
      .locator(".markdown a")
      .evaluateAll((found) => found.map((a) => ["href", "rel", "target"].map((name) => a.getAttribute(name))));
    const outside = (href: string) => [href, "noopener noreferrer", "_blank"];
    expect(links).toEqual([
      outside("https://evil.example/login"),
      outside("https://evil.example/p.png"),
      ...["auto", "3", "4"].map((end) => outside(`https://evil.example/${end}`)),
    ]);
    await article.getByText("my bank (evil.example)").waitFor();
    expect(foreign).toEqual([]);
    expect(await violations(page)).toEqual([]);
  });
});

describe("an approval form", () => {
  const FORM = {
    type: "object",
    required: ["contract", "reason"],
    properties: {
      contract: { type: "string", title: "Contract", contentEncoding: "base64", contentMediaType: "application/pdf" },
      reason: { type: "string", title: "Reason", format: "markdown" },
    },
  };

  it("accepts files and Markdown, and rejects a file that is too large before it is sent", async () => {
    const { run_id, pause_id } = await pausedRun({ message: "Sign?", form: FORM });
    const { page } = await signedIn(browser, tenant, "editor", `/inbox/${pause_id}`);
    const file = page.getByLabel("Contract");
    expect(await file.getAttribute("accept")).toBe("application/pdf");
    const named = { name: "contract.pdf", mimeType: "application/pdf" };
    await file.setInputFiles({ ...named, buffer: Buffer.alloc(48 * 1024 + 1) });
    await text(page, "contract.pdf is 49 KiB. The limit is 47 KiB.");
    const content = Buffer.from(Array.from({ length: 40_000 }, (_, at) => at % 256));
    await file.setInputFiles({ ...named, buffer: content });
    await text(page, "40 KiB");
    await page.getByRole("button", { name: "Remove" }).click();
    await expect.poll(() => file.inputValue()).toBe("");
    await page.getByRole("button", { name: "Approve" }).click();
    await text(page, "is required");
    await file.setInputFiles({ ...named, buffer: content });

    await page.getByLabel("Reason").fill("It is *good*.\n\n<img src=x onerror=alert(1)>");
    await page.getByRole("button", { name: "Preview" }).click();
    const preview = page.getByRole("group", { name: "Preview of Reason" });
    await preview.locator("em").getByText("good").waitFor();
    expect(await preview.locator("img").count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Approve" }).click();
    await text(page, /by you/);
    const run = await tenant.until(run_id, "COMPLETED");
    const answer = JSON.parse(run.outputs["out-0"].slice("yes ".length));
    expect(Buffer.from(answer.contract, "base64").equals(content)).toBe(true);
    expect(answer.reason).toContain("*good*");
  });

  it.each([
    ["a phone", { width: 360, height: 740 }],
    ["a dark desktop", { theme: "dark" }],
  ] as ReadonlyArray<readonly [string, View]>)("fits %s without horizontal scrolling", async (_, view) => {
    const { page, email } = await signedIn(browser, tenant, "editor", "/", view);
    const message =
      "Sign the **contract** with Ada?\n\n1. Read [it](https://contracts.example/12)\n2. Decide\n\n> Soon.";
    const { pause_id } = await pausedRun({ message, form: FORM, assignees: { users: [email], roles: ["admin"] } });
    await open(page, pause_id);
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await page.getByRole("article").locator("strong").waitFor();
    expect(await overflow(page)).toBe(0);
    expect(await violations(page)).toEqual([]);
  });
});
