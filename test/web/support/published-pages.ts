import { expect } from "vitest";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { FlowDefinition } from "../../../src/domain/flow/definition/definition.ts";
import type { ModelStub } from "../../../src/dev/model-stub.ts";
import { publish, type Published } from "../../api/pages/published.ts";
import type { ApiTenant } from "../../api/tenant.ts";
import { flow } from "../../engine/support.ts";
import { openWindow, type View } from "./console.ts";

const PHONE: View = { width: 390, height: 844 };
const MANY = { visitor: 1000, network: 1000, page: 1000 };

/** A flow in which a model answers a text. */
export async function answering(tenant: ApiTenant, { url }: ModelStub): Promise<FlowDefinition> {
  const { body } = await tenant.secret.post("/v2/connections", {
    name: `stub ${url}`,
    provider_id: "openai_compatible",
    scheme: "api_key",
    credential: { api_key: "sk-planted", base_url: `${url}/v1` },
  });
  const { connection_id } = body;
  const nodes = [
    { id: "in-0", type: "input", name: "Question" },
    { id: "llm-0", type: "llm", config: { model: "m", connection_id, prompt: "{{in-0}}" } },
    { id: "out-0", type: "output", name: "Answer" },
  ];
  return flow(nodes, ["in-0>llm-0", "llm-0>out-0"]);
}

/** Publishes a page, with limits that no test reaches. */
export const publishPage = (tenant: ApiTenant, definition: FlowDefinition, fields: object = {}): Promise<Published> =>
  publish(tenant, definition, { rate_limits: MANY, ...fields });

export const urlOf = (tenant: ApiTenant, { door }: Published): string => tenant.target.url + door;

/** Opens a published page as a new visitor, on a phone unless said otherwise. */
export async function visit(
  browser: Browser,
  url: string,
  view: View = {},
): Promise<{ readonly page: Page; readonly context: BrowserContext }> {
  const opened = await openWindow(browser, { ...PHONE, ...view });
  expect((await opened.page.goto(url))?.status()).toBe(200);
  await opened.page.locator("h1").waitFor();
  return opened;
}

/** Sends a message in a chat. */
export async function say(page: Page, words: string): Promise<void> {
  await page.getByRole("textbox", { name: "Message" }).fill(words);
  await page.getByRole("button", { name: "Send" }).click();
}

/** The last answer of a chat. */
export const lastAnswer = (page: Page) => page.locator(".chat-answer").last();
