import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { openTenant } from "../api/tenant.ts";
import { startHttpTarget } from "../support/http-target.ts";
import { openBrowser } from "./support/browser.ts";
import { expectNoFaults, signedIn, visit } from "./support/console.ts";
import { playScene, type Scene } from "./support/scene.ts";

const FOLDER = fileURLToPath(new URL("../../docs/images", import.meta.url));
const MAX_BYTES = 80_000;
/** Sharp enough for text, at a third of the size of a PNG. */
const PICTURE = { format: "webp", quality: 82 } as const;

type Picture = readonly [
  name: string,
  path: (scene: Scene) => string,
  role: "heading" | "region" | "treeitem",
  ready: string | RegExp,
  view?: { readonly colorScheme?: "dark"; readonly width?: number; readonly height?: number },
];

const PICTURES: readonly Picture[] = [
  ["home", () => "/", "heading", "Runs created"],
  ["runs", () => "/runs", "region", "Runs"],
  ["run", ({ waiting }) => `/runs/${waiting.run_id}?node=approval-0`, "heading", "Timeline"],
  ["inbox", ({ waiting }) => `/inbox/${waiting.pause_id}`, "heading", "Refund 180 EUR to Barbara Liskov?"],
  ["webhooks", ({ subscription_id }) => `/webhooks/${subscription_id}`, "region", "Delivery list"],
  ["access", () => "/access?tab=keys", "region", "API keys"],
  ["settings", () => "/settings", "heading", "Limits"],
  ["flows", () => "/flows", "heading", "Flows"],
  ["editor", ({ triage }) => `/flows/${triage}/edit?node=tpl-billing`, "treeitem", /in-0/],
  ["flow-compare", ({ triage }) => `/flows/${triage}/compare/1/draft`, "region", "Changes"],
  ["flow-call", ({ triage }) => `/flows/${triage}/call`, "heading", "Inputs"],
  [
    "run-dark",
    ({ waiting }) => `/runs/${waiting.run_id}?node=approval-0`,
    "heading",
    "Timeline",
    { colorScheme: "dark" },
  ],
  [
    "inbox-phone",
    ({ waiting }) => `/inbox/${waiting.pause_id}`,
    "heading",
    "Refund 180 EUR to Barbara Liskov?",
    { width: 360, height: 740 },
  ],
];

it("takes a picture of each page", async () => {
  mkdirSync(FOLDER, { recursive: true });
  const [{ browser, close }, tenant, receiver, model] = await Promise.all([
    openBrowser(),
    openTenant(),
    startHttpTarget(),
    startModelStub(),
  ]);
  try {
    // The receiver rejects some events.
    receiver.on(
      "/hooks",
      ({ body }, response) => void response.writeHead(/run\.(failed|cancelled)/.test(body) ? 503 : 200).end(),
    );
    const scene = await playScene(tenant, `${receiver.url}/hooks`, model);
    const { page } = await signedIn(browser, tenant, "admin", "/", { email: "ada@harbour.example" });
    for (const [name, path, role, ready, view = {}] of PICTURES) {
      const { colorScheme = "light", width = 1280, height = 800 } = view;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height });
      await visit(page, path(scene));
      await page.getByRole(role, { name: ready, exact: true }).first().waitFor();
      await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
      await keep(page, name);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 800 });
    await visit(page, `/flows/${scene.triage}/edit?panel=try`);
    await page.getByRole("combobox", { name: "Example" }).selectOption({ label: "An outage" });
    await page.getByRole("button", { name: "Run draft" }).click();
    await page.getByText("We write again within 30 minutes").first().waitFor();
    await keep(page, "editor-try");
    await talk(page, scene, model);
    await keep(page, "chat");
    await page
      .getByRole("button", { name: /^Source/ })
      .first()
      .click();
    await page.locator("mark").waitFor();
    await keep(page, "chat-source");
    await visit(page, `/flows/${scene.handbook}/pages?create=page`);
    await page.getByLabel("Welcome (optional)").fill("Ask us about orders and returns.");
    await keep(page, "publish-page");
    expectNoFaults();
  } finally {
    await Promise.all([close(), receiver.close(), model.close()]);
  }
});

/** Two questions to the handbook, as a person asks them. */
async function talk(page: Page, { handbook }: Scene, model: ModelStub): Promise<void> {
  model.next(
    {
      text: [
        "Customers can return an unused article **within 30 days**, in its packaging [1].\n\n",
        "1. Open the order and choose *Return*.\n2. Print the label.\n3. Bring the parcel to any shop.\n\n",
        "The refund goes to the card that was charged and takes up to five working days [2].",
      ],
    },
    { text: ["No: sale articles are **exchanged**, not refunded [3]."] },
  );
  await visit(page, `/flows/${handbook}/chat`);
  const asked = [
    ["How does a customer return a kettle?", "five working days"],
    ["And if it was on sale?", "exchanged"],
  ] as const;
  for (const [question, done] of asked) {
    await page.getByRole("textbox", { name: "Message" }).fill(question);
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Messages" }).getByText(done).waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Stop" }).count()).toBe(0);
  }
  await page.getByRole("navigation", { name: "Conversations" }).getByText("How does a customer").waitFor();
}

async function keep(page: Page, name: string): Promise<void> {
  const picture = await take(page);
  expect(picture.length, name).toBeLessThan(MAX_BYTES);
  writeFileSync(join(FOLDER, `${name}.webp`), picture);
}

/** Playwright itself only supports PNG and JPEG. */
async function take(page: Page): Promise<Buffer> {
  const devTools = await page.context().newCDPSession(page);
  const { data } = await devTools.send("Page.captureScreenshot", PICTURE);
  await devTools.detach();
  return Buffer.from(data, "base64");
}
