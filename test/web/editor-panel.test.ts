import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startModelStub } from "../../src/dev/model-stub.ts";
import { flow } from "../engine/support.ts";
import { checkBothLooks, signedIn, visit } from "./support/console.ts";
import { node, nodeIds } from "./support/editor.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let page: Page;
let projectId: string;

const skipped = { skip_if: "true" };
const FLOW = flow(
  [
    { id: "in-0", type: "input", name: "Customer" },
    { id: "tpl-0", type: "template", name: "Letter", config: { template: "Dear customer" } },
    { id: "set-0", type: "set", config: { values: { a: "1" } } },
    { id: "http-0", type: "http", config: { url: "https://example.com/{{ in-0 }}" }, ...skipped },
    {
      id: "act-0",
      type: "action",
      config: { provider_id: "http", action_id: "get", inputs: { url: "x" } },
      ...skipped,
    },
    { id: "out-0", type: "output" },
  ],
  ["in-0>tpl-0", "in-0>set-0", "in-0>http-0", "in-0>act-0", "tpl-0>out-0", "set-0>out-0"],
);

/** Texts in a schema that would do harm if a page took them for more than texts. */
const BAD = `<img src=x onerror="document.title='harmed'">{{ constructor }}`;
const HOSTILE = {
  openapi: "3.0.3",
  info: { title: "Hostile", version: "1" },
  servers: [{ url: "https://example.com" }],
  paths: {
    "/x": {
      post: {
        operationId: "harm",
        summary: BAD,
        description: BAD,
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Node" } } },
        },
        responses: { 200: { description: "ok" } },
      },
    },
  },
  components: {
    schemas: {
      Node: {
        type: "object",
        title: BAD,
        required: ["name"],
        properties: {
          name: { type: "string", title: BAD, description: BAD },
          count: { type: "integer", title: "Count", default: 3 },
          next: { $ref: "#/components/schemas/Node" },
          any: {},
          either: { oneOf: [{ $ref: "#/components/schemas/Node" }, { type: "string", title: BAD }] },
        },
      },
    },
  },
};

beforeAll(async () => {
  projectId = await tenant.deploy(FLOW);
  const nodes = [
    ...FLOW.nodes,
    { id: "llm-0", type: "llm", config: { prompt: "Hello" } },
    { id: "kb-0", type: "knowledge", config: { query: "{{ in-0 }}" } },
  ];
  await tenant.secret.put(`/v2/projects/${projectId}/draft`, { flow: { ...FLOW, nodes } });
  ({ page } = await signedIn(browser, tenant, "admin", "/"));
});

const panel = (): Locator => page.getByRole("complementary", { name: "Node" });
const select = async (id: string): Promise<void> => {
  await visit(page, `/flows/${projectId}/edit?node=${id}`);
  await panel().locator("code").getByText(id, { exact: true }).first().waitFor();
};
/** The configuration of a node in the draft, once it has been saved. */
async function saved(path: string): Promise<Record<string, unknown>> {
  const { body } = await tenant.secret.get(`/v2/projects/${projectId}/draft`);
  return body.flow.nodes.find(({ id }: { id: string }) => id === path).config;
}
async function draftHas(path: string, config: Record<string, unknown>): Promise<void> {
  await expect.poll(() => saved(path), { timeout: 10_000 }).toEqual(config);
}

describe("the panel of a node", () => {
  it("completes what is in scope, shows an error at its field, previews with a run's values, and undoes with the editor", async () => {
    await tenant.secret.post("/v2/runs", {
      project_id: projectId,
      inputs: { "in-0": "Ada" },
      mode: "sync",
      wait_seconds: 20,
    });
    await select("tpl-0");
    // Without what is in scope there is nothing to complete.
    await panel().getByRole("treeitem").first().waitFor();
    const field = panel().getByRole("textbox", { name: "Template" });
    await field.click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("Hi {{ in-");
    const option = page.getByRole("option", { name: "in-0 text", exact: true });
    await option.waitFor();
    expect(await option.innerText()).toContain("text");
    await page.keyboard.press("Enter");
    await expect.poll(() => field.innerText()).toBe("Hi {{ in-0 }}");

    await page.keyboard.type(" {{ in-7 }}");
    const fault = panel().getByRole("alert").filter({ hasText: "in-7" });
    await fault.waitFor();
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    expect(await panel().locator(".cm-lintRange-error").count()).toBeGreaterThan(0);
    for (let n = 0; n < " {{ in-7 }}".length; n++) await page.keyboard.press("Backspace");
    await fault.waitFor({ state: "detached" });

    await panel().getByLabel("Values of").selectOption({ index: 1 });
    await panel().getByRole("button", { name: "Preview Template" }).click();
    await panel().getByRole("group", { name: "Preview of Template" }).getByText("Hi Ada").waitFor();
    await checkBothLooks(page, "the panel of a template");

    await field.click();
    await page.keyboard.press("Control+End");
    await panel().getByRole("treeitem", { name: /^run/ }).focus();
    for (const key of ["ArrowRight", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    await expect.poll(() => field.innerText()).toBe("Hi {{ in-0 }}{{ run.id }}");
    await page.keyboard.press("Tab");
    expect(await field.evaluate("document.activeElement.className")).not.toContain("cm-content");

    await field.click();
    for (let n = 0; n < 8 && (await field.innerText()) !== "Dear customer"; n++) await page.keyboard.press("Control+z");
    expect(await field.innerText()).toBe("Dear customer");
    await page.keyboard.press("Control+Shift+z");
    expect(await field.innerText()).not.toBe("Dear customer");
  });

  it("edits a record, a union and a list of unions by keyboard", async () => {
    await select("set-0");
    await panel().getByRole("button", { name: "Add entry" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.type("total");
    await page.keyboard.press("Tab");
    await page.keyboard.type("2 * 3");
    await draftHas("set-0", { values: { a: "1", total: "2 * 3" } });

    await select("http-0");
    await panel().getByText("Advanced", { exact: true }).focus();
    await page.keyboard.press("Enter");
    await panel().getByLabel("Expect status").selectOption("List");
    await panel().getByRole("group", { name: "List" }).getByText("Add item").focus();
    for (const key of ["Enter", "Tab", "Enter"]) await page.keyboard.press(key);
    await panel().getByLabel("Whole number").fill("204");
    await draftHas("http-0", { url: "https://example.com/{{ in-0 }}", expect_status: [204] });

    await select("llm-0");
    await panel()
      .getByRole("group", { name: /^Tools/ })
      .getByText("Add item")
      .focus();
    for (const key of ["Enter", "Tab", "Tab", "Enter"]) await page.keyboard.press(key);
    await draftHas("llm-0", { prompt: "Hello", tools: [{ type: "knowledge" }] });
    await panel()
      .getByRole("button", { name: /^Knowledge base:/ })
      .click();
    await page.getByRole("dialog").getByText("No knowledge bases yet.").waitFor();
    await page.keyboard.press("Escape");
    await panel().getByRole("button", { name: "Remove item 1" }).click();
    await draftHas("llm-0", { prompt: "Hello" });
  });

  it("renames a node with everything that names it, and says why an ID cannot be taken", async () => {
    await select("in-0");
    const field = panel().getByLabel("ID", { exact: true });
    await field.fill("tpl-0");
    await panel().getByRole("alert").getByText('Another node already has the ID "tpl-0".').waitFor();
    await field.press("Escape");
    expect(await field.inputValue()).toBe("in-0");
    await field.fill("customer");
    await field.press("Enter");
    await node(page, "customer").waitFor();
    await expect.poll(() => field.evaluate("document.activeElement.name")).toBe("node-id");
    await draftHas("http-0", { url: "https://example.com/{{ customer }}", expect_status: [204] });
    expect(new URL(page.url()).searchParams.get("node")).toBe("customer");
    await visit(page, `/flows/${projectId}/compare/published/draft`);
    const changes = page.getByRole("region", { name: "Changes" });
    await changes.getByRole("button", { name: "Renamed Customer customer was in-0" }).click();
    await changes.getByText("Only the ID and references to it changed.").waitFor();
    await visit(page, `/flows/${projectId}/edit?node=customer`);
    await field.fill("in-0");
    await field.press("Enter");
    await draftHas("http-0", { url: "https://example.com/{{ in-0 }}", expect_status: [204] });
  });

  it("offers an action's own form, and a hostile schema does no harm in it", async () => {
    const { status, body } = await tenant.secret.post("/v2/providers", { openapi: HOSTILE });
    expect(status, JSON.stringify(body)).toBe(201);
    await select("act-0");
    await panel()
      .getByRole("button", { name: /^Provider:/ })
      .click();
    await page.getByRole("dialog").getByLabel("Search").fill("Hostile");
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /Hostile/ })
      .click();
    await panel()
      .getByRole("button", { name: /^Action:/ })
      .click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /onerror/ })
      .click();
    await panel().locator("summary").filter({ hasText: "(optional)" }).first().click();
    const count = panel().getByRole("textbox", { name: "Count", exact: true });
    await count.first().fill("4");
    await checkBothLooks(page, "a hostile action");
    expect(await page.title()).not.toContain("harmed");
    expect(await page.locator("img").count()).toBe(0);
  });

  it("creates what a field refers to in place, with the messages of the API at its fields", async () => {
    await select("kb-0");
    await panel().getByRole("button", { name: "Create knowledge base" }).click();
    let dialog = page.getByRole("dialog", { name: "Create knowledge base" });
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByRole("alert").first().waitFor();
    await dialog.getByLabel("Name", { exact: true }).fill("Handbook");
    await dialog.getByRole("button", { name: "Create" }).click();
    await panel().getByRole("button", { name: "Knowledge base: Handbook" }).waitFor();
    const { body: bases } = await tenant.secret.get("/v2/knowledge-bases");
    const { knowledge_base_id } = bases.data.find(({ name }: { name: string }) => name === "Handbook");
    await draftHas("kb-0", { query: "{{ in-0 }}", knowledge_base_id });

    const models = await startModelStub();
    onTestFinished(() => models.close());
    await select("llm-0");
    await panel().getByRole("button", { name: "Connect a model provider" }).click();
    dialog = page.getByRole("dialog", { name: "Create connection" });
    await dialog.getByLabel("Provider", { exact: true }).selectOption({ label: "Anthropic" });
    await dialog.getByLabel("Name", { exact: true }).fill("Claude");
    const key = dialog.getByLabel("API key", { exact: true });
    expect(await key.getAttribute("type")).toBe("password");
    await key.fill("sk-planted");
    await dialog.getByLabel(/^Base URL/).fill(models.url);
    await checkBothLooks(page, "a new connection");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.waitFor({ state: "detached" });
    const { body: connections } = await tenant.secret.get("/v2/connections");
    const { connection_id } = connections.data.find(({ name }: { name: string }) => name === "Claude");
    await draftHas("llm-0", { prompt: "Hello", connection_id });
  });

  it("pins a value for tries, and unpins it", async () => {
    await select("tpl-0");
    await panel().getByRole("link", { name: "Value" }).click();
    await expect.poll(() => page.url()).toContain("tab=value");
    await page.reload();
    await panel().getByRole("button", { name: "Pin another value" }).click();
    await panel().getByLabel("Value (JSON)").fill('"pinned text"');
    await panel().getByRole("button", { name: "Pin value" }).click();
    await panel().getByRole("group", { name: "Pinned value" }).getByText("pinned text").waitFor();
    await panel().getByRole("button", { name: "Unpin" }).click();
    await panel().getByText("Not pinned.").waitFor();
  });

  it("selects nothing and leaves the canvas where it is when it closes, like the palette", async () => {
    const chosen = page.locator(".react-flow__node.selected");
    const place = (): Promise<unknown> =>
      page.locator(".react-flow__viewport").evaluate("document.querySelector('.react-flow__viewport').style.transform");
    await visit(page, `/flows/${projectId}/edit`);
    await node(page, "act-0").waitFor();
    const before = await place();
    for (const key of ["n", "Escape"]) await page.keyboard.press(key);
    await page.getByRole("dialog", { name: "Add a node" }).waitFor({ state: "detached" });
    expect([await chosen.count(), await place()]).toEqual([0, before]);
    await page.keyboard.press("ArrowDown");
    await panel().waitFor();
    await panel().getByRole("button", { name: "Close panel" }).press("Escape");
    await panel().waitFor({ state: "detached" });
    expect(await chosen.count()).toBe(0);
  });

  it("does not hide the node that it is about, at the right edge or on a phone", async () => {
    const frame = page.locator(".editor-canvas");
    const chosen = page.locator(".react-flow__node.selected");
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 });
      await visit(page, `/flows/${projectId}/edit`);
      await page.reload();
      await frame.waitFor();
      const ids = await nodeIds(page);
      const boxes = await Promise.all(ids.map(async (id) => ({ id, box: await node(page, id).boundingBox() })));
      const far = (side: "x" | "y"): string =>
        boxes.toSorted((one, other) => (other.box?.[side] ?? 0) - (one.box?.[side] ?? 0))[0]?.id ?? "";
      const last = node(page, width === 360 ? far("y") : far("x"));
      await last.click();
      await panel().getByRole("button", { name: "Close panel" }).click();
      // The whole flow is in view again, with the node where it was.
      await page.keyboard.press("0");
      await last.click();
      await panel().getByLabel("Name", { exact: true }).waitFor();
      const side = await panel().boundingBox();
      const box = await chosen.boundingBox();
      const canvas = await frame.boundingBox();
      if (!side || !box || !canvas) throw new Error("not drawn");
      expect(box.x).toBeGreaterThanOrEqual(canvas.x);
      expect(box.x + box.width <= side.x || box.y + box.height <= side.y, `at ${width} px`).toBe(true);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});
