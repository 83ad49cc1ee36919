import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { asking } from "../api/tenant.ts";
import { signedIn, text, violations, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let page: Page;
beforeAll(async () => {
  ({ page } = await signedIn(browser, tenant, "editor", "/inbox"));
});

/** Opens the pause of a new run whose approval form has these fields. */
async function openForm(properties: Record<string, object>, required: string[] = []): Promise<{ run_id: string }> {
  const form = { type: "object", required, properties };
  const project_id = await tenant.deploy(asking({ form, message: "Fill {{in-0}}" }));
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "it" } });
  const run = await tenant.until(body.run_id, "PAUSED");
  await visit(page, `/inbox/${run.pauses[0].pause_id}`);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  return { run_id: body.run_id };
}
const approve = () => page.getByRole("button", { name: "Approve" }).click();
/** The data that the run received. */
async function answered(run_id: string): Promise<unknown> {
  await text(page, /by you/);
  const run = await tenant.until(run_id, "COMPLETED");
  return JSON.parse(run.outputs["out-0"].slice("yes ".length));
}

describe("a list in a form", () => {
  it.each([
    ["numbers", { type: "number" }, ["1", "2", "3"], [2, 3]],
    ["any JSON", {}, ["[1]", "[2]", "[3]"], [[2], [3]]],
    ["texts", { type: "string" }, ["a", "b", "c"], ["b", "c"]],
  ] as ReadonlyArray<readonly [string, object, string[], unknown[]]>)(
    "of %s sends exactly the shown items after one is removed",
    async (_, items, typed, sent) => {
      const { run_id } = await openForm({ list: { type: "array", title: "List", items } }, ["list"]);
      const fields = page.getByRole("textbox", { name: /^Item/ });
      for (const [at, each] of typed.entries()) {
        await page.getByRole("button", { name: "Add" }).click();
        await fields.nth(at).fill(each);
      }
      await page.getByRole("button", { name: "Remove item 1" }).click();
      await fields.nth(2).waitFor({ state: "detached" });
      expect(await Promise.all([0, 1].map((at) => fields.nth(at).inputValue()))).toEqual(typed.slice(1));
      await approve();
      expect(await answered(run_id)).toEqual({ list: sent });
    },
  );

  it("keeps the texts of nested lists separate", async () => {
    const row = { type: "array", items: { type: "number", title: "Cell" } };
    const { run_id } = await openForm({ rows: { type: "array", title: "Rows", items: row } }, ["rows"]);
    const add = page.getByRole("button", { name: "Add" });
    await add.click();
    await add.first().click();
    await page.getByLabel("Cell 1").fill("1");
    await add.last().click();
    await add.nth(1).click();
    await page.getByLabel("Cell 1").nth(1).fill("2");
    await page.getByRole("button", { name: "Remove item 1" }).nth(1).click();
    await expect.poll(() => page.getByLabel("Cell 1").count()).toBe(1);
    expect(await page.getByLabel("Cell 1").inputValue()).toBe("2");
    await approve();
    expect(await answered(run_id)).toEqual({ rows: [[2]] });
  });
});

describe("a form", () => {
  it("has its fields in the order of the schema", async () => {
    const names = ["surname", "name", "street", "no"];
    await openForm(Object.fromEntries(names.map((name) => [name, { type: "string" }])), names);
    const labels = await page.locator("form label").allInnerTexts();
    expect(labels.filter((each) => names.includes(each))).toEqual(names);
  });

  it("sends a date, a choice, a list and a nested object as entered", async () => {
    const address = {
      type: "object",
      title: "Address",
      required: ["street"],
      properties: { street: { type: "string", title: "Street" }, floor: { type: "integer", title: "Floor" } },
    };
    const { run_id } = await openForm(
      {
        day: { type: "string", format: "date", title: "Day" },
        size: { enum: ["small", "large", 3], title: "Size" },
        parts: { type: "array", title: "Parts", items: { type: "string", title: "Part" } },
        address,
        // Left empty, so its required fields must not be reported as missing.
        billing: { ...address, title: "Billing" },
      },
      ["day", "size", "parts", "address"],
    );
    await page.getByLabel("Day").fill("2031-02-28");
    await page.getByLabel("Size").selectOption({ label: "3" });
    for (const [at, part] of ["bolt", "nut"].entries()) {
      await page.getByRole("button", { name: "Add" }).click();
      await page.getByLabel(`Part ${at + 1}`).fill(part);
    }
    const group = page.getByRole("group", { name: "Address" });
    await approve();
    await text(page, "is required");
    expect(await group.getByLabel("Street").getAttribute("aria-invalid")).toBe("true");
    expect(await violations(page)).toEqual([]);
    await group.getByLabel("Street").fill("Mill Lane");
    await group.getByLabel("Floor").fill("2");
    await approve();
    expect(await answered(run_id)).toEqual({
      day: "2031-02-28",
      size: 3,
      parts: ["bolt", "nut"],
      address: { street: "Mill Lane", floor: 2 },
    });
  });

  it("sends nothing while a text is not valid JSON", async () => {
    const { run_id } = await openForm({ any: { title: "Anything" } }, ["any"]);
    const field = page.getByLabel("Anything");
    await field.fill('{"a": 1}');
    await field.fill('{"a": 12');
    await approve();
    await text(page, "One field is not valid.");
    expect((await tenant.secret.get(`/v2/runs/${run_id}`)).body.state).toBe("PAUSED");
    await field.fill('{"a": 12}');
    await approve();
    expect(await answered(run_id)).toEqual({ any: { a: 12 } });
  });

  it("silent-digits: sends numbers as entered, or rejects them at their field", async () => {
    const properties = { n: { type: "integer", title: "Number" }, j: { title: "Anything" } };
    const { run_id } = await openForm(properties, ["n", "j"]);
    const fields = { Number: page.getByLabel("Number"), Anything: page.getByLabel("Anything") };
    await fields.Number.fill("5");
    await fields.Anything.fill("{}");
    for (const [label, typed, said] of [
      ["Number", "9007199254740993", "The number 9007199254740993 would lose digits"],
      ["Number", "1e400", "The number 1e400 would lose digits"],
      ["Anything", '{"a":[0,{"id":9007199254740993}]}', "a[1].id: the number 9007199254740993 would lose digits"],
      ["Anything", "[1, 1e400]", "[1]: the number 1e400 would lose digits"],
      ["Anything", '{"a":{"b":1,"c":"\\",\\"b\\":","\\u0062":2}}', "a.b appears twice"],
    ] as const) {
      const before = await fields[label].inputValue();
      await fields[label].fill(typed);
      await text(page, said);
      await approve();
      await text(page, "One field is not valid.");
      expect(await fields[label].getAttribute("aria-invalid")).toBe("true");
      expect((await tenant.secret.get(`/v2/runs/${run_id}`)).body.state).toBe("PAUSED");
      await fields[label].fill(before);
    }
    await fields.Number.fill("0x10");
    await approve();
    await text(page, "must be integer");
    await fields.Number.fill("9007199254740991.0");
    await fields.Anything.fill('{"id":"9007199254740993","n":[1e21,0.10,-0.5e-3]}');
    await approve();
    const n = Number.MAX_SAFE_INTEGER;
    expect(await answered(run_id)).toEqual({ n, j: { id: "9007199254740993", n: [1e21, 0.1, -0.0005] } });
  });

  it("treats an unticked box as false, and shows errors at the box", async () => {
    const { run_id } = await openForm(
      {
        agreed: { type: "boolean", title: "Agreed", description: "In writing" },
        must: { type: "boolean", const: true },
      },
      ["agreed", "must"],
    );
    const must = page.getByLabel("must");
    await must.uncheck();
    await approve();
    await expect.poll(() => must.getAttribute("aria-invalid")).toBe("true");
    const described = await must.getAttribute("aria-describedby");
    expect(await page.locator(`[id="${described}"]`).innerText()).not.toBe("");
    await must.check();
    await approve();
    expect(await answered(run_id)).toEqual({ agreed: false, must: true });
  });

  it("can be rejected without its required fields, and sends the fields that are filled in", async () => {
    const form = { amount: { type: "number", title: "Amount", default: 5 }, why: { type: "string", title: "Why" } };
    const bare = await openForm(form, ["amount", "why"]);
    await page.getByRole("button", { name: "Reject" }).click();
    await text(page, /by you/);
    await tenant.until(bare.run_id, "COMPLETED");
    const filled = await openForm(form, ["amount", "why"]);
    await page.getByLabel("Why").fill("Too dear");
    const sent = page.waitForRequest((request) => request.url().endsWith(`${filled.run_id}/resume`));
    await page.getByRole("button", { name: "Reject" }).click();
    expect((await sent).postDataJSON().data).toEqual({ amount: 5, why: "Too dear" });
    await text(page, /by you/);
  });
});
