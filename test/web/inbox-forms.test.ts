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

/** Opens the pause of a new run whose approval has a form of these members. */
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
/** What the run was given. */
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
    "of %s shows what it sends when one is removed",
    async (_, items, typed, sent) => {
      const { run_id } = await openForm({ list: { type: "array", title: "List", items } }, ["list"]);
      const fields = page.getByRole("textbox", { name: /^Item/ });
      for (const [at, each] of typed.entries()) {
        await page.getByRole("button", { name: "Add" }).click();
        await fields.nth(at).fill(each);
      }
      await page.getByRole("button", { name: "Remove 1" }).click();
      await fields.nth(2).waitFor({ state: "detached" });
      expect(await Promise.all([0, 1].map((at) => fields.nth(at).inputValue()))).toEqual(typed.slice(1));
      await approve();
      expect(await answered(run_id)).toEqual({ list: sent });
    },
  );

  it("keeps the texts of lists within it apart", async () => {
    const row = { type: "array", items: { type: "number", title: "Cell" } };
    const { run_id } = await openForm({ rows: { type: "array", title: "Rows", items: row } }, ["rows"]);
    const add = page.getByRole("button", { name: "Add" });
    await add.click();
    await add.first().click();
    await page.getByLabel("Cell 1").fill("1");
    await add.last().click();
    await add.nth(1).click();
    await page.getByLabel("Cell 1").nth(1).fill("2");
    await page.getByRole("button", { name: "Remove 1" }).nth(1).click();
    await expect.poll(() => page.getByLabel("Cell 1").count()).toBe(1);
    expect(await page.getByLabel("Cell 1").inputValue()).toBe("2");
    await approve();
    expect(await answered(run_id)).toEqual({ rows: [[2]] });
  });
});

describe("a form", () => {
  it("has its fields in the order in which they are written", async () => {
    const names = ["surname", "name", "street", "no"];
    await openForm(Object.fromEntries(names.map((name) => [name, { type: "string" }])), names);
    const labels = await page.locator("form label").allInnerTexts();
    expect(labels.filter((each) => names.includes(each))).toEqual(names);
  });

  it("sends a date, a choice, a list and an object within it as they are typed", async () => {
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
        // Nothing is given of it: its own required members are not missed.
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
    await text(page, "must be given");
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

  it("sends no earlier value of a text that is no JSON", async () => {
    const { run_id } = await openForm({ any: { title: "Anything" } }, ["any"]);
    const field = page.getByLabel("Anything");
    await field.fill('{"a": 1}');
    await field.fill('{"a": 12');
    await approve();
    await text(page, "One field cannot be read as it is.");
    expect((await tenant.secret.get(`/v2/runs/${run_id}`)).body.state).toBe("PAUSED");
    await field.fill('{"a": 12}');
    await approve();
    expect(await answered(run_id)).toEqual({ any: { a: 12 } });
  });

  it("takes a box that is not ticked for no, and says at the box what is wrong with it", async () => {
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

  it("is rejected without being filled in, whatever it begins with; what was filled in goes along", async () => {
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
