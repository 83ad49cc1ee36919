import { randomUUID } from "node:crypto";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { asking } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { startHttpTarget } from "../support/http-target.ts";
import { address, signedIn } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let stub: ModelStub;
beforeAll(async () => {
  stub = await startModelStub();
});
afterAll(() => stub.close());

const hasFocus = (locator: Locator): Promise<boolean> =>
  locator.evaluate((element) => element === element.ownerDocument.activeElement);
const focusComes = async (locator: Locator): Promise<void> => {
  await expect.poll(() => hasFocus(locator)).toBe(true);
};

/** Chooses an option with an arrow key after it has loaded, because typing its letters too slowly selects another one. */
async function choose(page: Page, select: Locator, label: string): Promise<void> {
  await select.locator("option", { hasText: label }).first().waitFor({ state: "attached" });
  const chosen = (): Promise<string> =>
    select.evaluate((element) => (element as unknown as Select).selectedOptions[0]?.text ?? "");
  const count = await select.locator("option").count();
  await page.keyboard.press("Home");
  for (let steps = 1; steps < count && (await chosen()) !== label; steps++) await page.keyboard.press("ArrowDown");
  expect(await chosen()).toBe(label);
}
interface Select {
  readonly selectedOptions: ReadonlyArray<{ readonly text: string }>;
}

/** Moves the focus with the keyboard, as a user without a mouse does. */
async function tabTo(page: Page, locator: Locator, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
  await locator.waitFor();
  for (let steps = 0; steps < 80 && !(await hasFocus(locator)); steps++) await page.keyboard.press(key);
  expect(await hasFocus(locator), `${key} comes to it`).toBe(true);
}

async function connect(name: string, url = stub.url): Promise<string> {
  const { body } = await tenant.secret.post("/v2/connections", {
    name,
    provider_id: "openai_compatible",
    scheme: "api_key",
    credential: { api_key: "sk-planted", base_url: `${url}/v1` },
  });
  return body.connection_id;
}

describe("the usage page, without a mouse", () => {
  beforeAll(async () => {
    const connection_id = await connect(randomUUID());
    for (const model of ["keys-one", "keys-two"]) {
      const nodes = [
        { id: "in-0", type: "input" },
        { id: "llm-0", type: "llm", config: { model, connection_id, prompt: "Hi" } },
        { id: "out-0", type: "output" },
      ];
      const project_id = await tenant.deploy(flow(nodes, ["in-0>llm-0", "llm-0>out-0"]));
      await tenant.secret.patch(`/v2/projects/${project_id}`, { name: `Asks ${model}` });
      await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "x" }, mode: "sync" });
    }
  });

  it("can be filtered, moved through with j and k, and left for the runs of a project", async () => {
    const { page } = await signedIn(browser, tenant, "viewer", "/usage");
    const model = page.getByRole("combobox", { name: "Model" });
    const table = (by: string): Locator => page.getByRole("region", { name: `Usage by ${by}`, exact: true });
    await table("day (UTC)").waitFor();
    // Each table can get the focus, so that arrow keys scroll it.
    for (const by of ["model", "project", "day (UTC)"]) await tabTo(page, table(by));
    await page.keyboard.press("/");
    await focusComes(model);
    await page.keyboard.press("Tab");
    await focusComes(page.getByRole("combobox", { name: "Time range" }));
    const read = ["model", "project", "day"].map((by) =>
      page.waitForResponse((answer) => answer.url().includes(`/v2/usage?group_by=${by}`)),
    );
    await page.keyboard.press("ArrowDown");
    await page.waitForURL(address(tenant, "/usage?hours=168"));
    // Waits until the tables of the day are replaced by those of the week.
    await Promise.all(read);
    await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
    await tabTo(page, table("model").getByRole("link").first());
    await page.keyboard.press("j");
    await focusComes(table("model").getByRole("link").nth(1));
    await page.keyboard.press("j");
    await focusComes(table("project").getByRole("link").first());
    await page.keyboard.press("k");
    const chosen = (await table("model").getByRole("link").nth(1).innerText()).trim();
    await page.keyboard.press("Enter");
    await page.waitForURL(address(tenant, `/usage?hours=168&model=${chosen}`));
    // Following the link replaces the list that contained it, and the tables of all models by those of this one.
    const left = table("project").getByRole("link");
    await expect.poll(() => left.allInnerTexts()).toEqual([`Asks ${chosen}`]);
    await expect.poll(() => page.evaluate<boolean>("document.activeElement.closest('#content') !== null")).toBe(true);
    await page.keyboard.press("Escape");
    await tabTo(page, left);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\?project_id=[^&]+&created_after=/);
    await focusComes(page.getByRole("heading", { name: "Runs", exact: true }));
  });
});

describe("the connections page, without a mouse", () => {
  const check = (page: Page, name: string): Locator => page.getByRole("button", { name: `Check ${name}`, exact: true });

  it("keeps the focus on a connection that is checked, and continues from there", async () => {
    const names = [1, 2, 3].map((at) => `keys ${at} ${randomUUID()}`);
    for (const name of names) await connect(name);
    const { page } = await signedIn(browser, tenant, "editor", "/connections");
    const rows = page.locator("#content [data-row]");
    await check(page, names[2] ?? "").waitFor();
    await tabTo(page, rows.nth(1));
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/\/check$/, async (route) => {
      await held;
      await route.continue();
    });
    await page.keyboard.press("Enter");
    // The button is disabled during the request, so the browser drops the focus.
    await expect.poll(() => rows.nth(1).isDisabled()).toBe(true);
    await expect.poll(() => page.evaluate<string>("document.activeElement.tagName")).toBe("BODY");
    answer();
    await expect.poll(() => rows.nth(1).isDisabled()).toBe(false);
    await focusComes(rows.nth(1));
    await page.keyboard.press("j");
    await focusComes(rows.nth(2));
    await tabTo(page, page.getByRole("row").nth(2).getByRole("button").first(), "Shift+Tab");
    expect(await rows.nth(1).evaluate((row) => row.closest("tr")?.contains(row.ownerDocument.activeElement))).toBe(
      true,
    );
    await page.keyboard.press("j");
    await focusComes(rows.nth(2));
    await page.keyboard.press("k");
    await focusComes(rows.nth(1));
  });

  it("moves the focus to the next connection if the checked one leaves the list", async () => {
    // At first the provider cannot check the key.
    const upstream = await startHttpTarget();
    upstream.on("/v1/models", (_, response) => {
      response.writeHead(404).end();
    });
    for (const at of [1, 2, 3]) await connect(`leaves ${at} ${randomUUID()}`, upstream.url);
    upstream.on("/v1/models", (_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end('{"data":[]}');
    });
    const { page, context } = await signedIn(browser, tenant, "editor", "/connections");
    const rows = page.locator("#content [data-row]");
    await rows.first().waitFor();
    await page.keyboard.press("/");
    const state = page.getByRole("combobox", { name: "State" });
    await focusComes(state);
    await choose(page, state, "Unverified");
    await page.waitForURL(address(tenant, "/connections?status=unverified"));
    const names = (): Promise<Array<string | null>> =>
      rows.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label")));
    const { body: listed } = await tenant.secret.get("/v2/connections?status=unverified");
    const before = listed.data.map(({ name }: { name: string }) => `Check ${name}`);
    expect(before.length).toBeGreaterThan(2);
    await expect.poll(names).toEqual(before);
    await tabTo(page, rows.nth(1));
    await page.keyboard.press("Enter");
    await expect.poll(names).toEqual(before.filter((_: string, at: number) => at !== 1));
    await focusComes(rows.nth(1));
    await page.keyboard.press("k");
    await focusComes(rows.nth(0));
    await context.close();
    await upstream.close();
  });
});

describe("the members of a project, without a mouse", () => {
  async function guests(mark: string): Promise<string[]> {
    const emails = ["a", "b", "c"].map((name) => `${name}-${mark}@example.test`);
    for (const email of emails)
      await tenant.secret.post("/v2/users", { email, password: "a long enough password", role: "member" });
    return emails;
  }
  const rolesIn = async (project_id: string): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await tenant.secret.get(`/v2/projects/${project_id}/members`)).body.data.map(
        ({ email, role }: Record<string, string>) => [email, role],
      ),
    );

  it("can be given a role, another role and none, and the focus always moves to the next control", async () => {
    const project_id = await tenant.deploy(asking());
    const emails = await guests(randomUUID());
    const [first = "", second = "", third = ""] = emails;
    const { page } = await signedIn(browser, tenant, "admin", `/access?tab=members&project=${project_id}`);
    const user = page.getByLabel("User", { exact: true });
    for (const [at, email] of emails.entries()) {
      await tabTo(page, user);
      await choose(page, user, email);
      await page.keyboard.press("Tab");
      await focusComes(page.getByLabel("Role", { exact: true }));
      if (at === 1) await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByLabel(`Role of ${email}`, { exact: true }).waitFor();
      // The form is reset for the next member.
      await focusComes(user);
    }
    expect(await rolesIn(project_id)).toEqual({ [first]: "viewer", [second]: "editor", [third]: "viewer" });

    const role = page.getByLabel(`Role of ${first}`, { exact: true });
    await tabTo(page, role, "Shift+Tab");
    await page.keyboard.press("ArrowDown");
    const apply = page.getByRole("button", { name: "Change to editor" });
    await page.keyboard.press("Tab");
    await focusComes(apply);
    await page.keyboard.press("Enter");
    await apply.waitFor({ state: "detached" });
    await focusComes(role);
    expect((await rolesIn(project_id))[first]).toBe("editor");

    const takeAway = (email: string): Locator =>
      page.getByRole("button", { name: `Remove the role of ${email}`, exact: true });
    const rows = page.locator("#content [data-row]");
    const order = await rows.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label") ?? ""));
    const [one = "", two = "", three = ""] = order.map((label) => label.replace("Remove the role of ", ""));
    await tabTo(page, takeAway(two));
    await page.keyboard.press("Enter");
    await takeAway(two).waitFor({ state: "detached" });
    await focusComes(takeAway(three));
    await page.keyboard.press("Enter");
    await takeAway(three).waitFor({ state: "detached" });
    await focusComes(takeAway(one));
    await page.keyboard.press("Enter");
    await page.getByText("No members yet").waitFor();
    await focusComes(user);
    expect(await rolesIn(project_id)).toEqual({});
  });

  it("can be given a role in a dialog, which returns the focus at Escape", async () => {
    const project_id = await tenant.deploy(asking());
    const name = `keys ${randomUUID()}`;
    await tenant.secret.patch(`/v2/projects/${project_id}`, { name });
    const [email = ""] = await guests(randomUUID());
    const { page } = await signedIn(browser, tenant, "admin", "/access");
    const row = page.locator("tbody tr").filter({ hasText: email });
    const open = row.getByRole("button", { name: "Project roles…" });
    await tabTo(page, open);
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    const project = dialog.getByLabel("Project", { exact: true });
    await tabTo(page, project);
    await choose(page, project, name);
    await tabTo(page, dialog.getByRole("button", { name: "Add", exact: true }));
    await page.keyboard.press("Enter");
    const remove = dialog.getByRole("button", { name: `Remove the role in ${name}` });
    await remove.waitFor();
    expect(await rolesIn(project_id)).toEqual({ [email]: "viewer" });
    // Tab cycles in both directions and never reaches the page behind the dialog.
    for (const key of ["Tab", "Shift+Tab"])
      for (let steps = 0; steps < 15; steps++) {
        await page.keyboard.press(key);
        expect(await page.evaluate<boolean>("document.activeElement.matches('body, dialog, dialog *')")).toBe(true);
      }
    await tabTo(page, remove);
    await page.keyboard.press("Enter");
    await remove.waitFor({ state: "detached" });
    await focusComes(project);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await focusComes(open);
    expect(await rolesIn(project_id)).toEqual({});

    const lock = row.getByRole("button", { name: "Disable…" });
    await tabTo(page, lock);
    await page.keyboard.press("Enter");
    await focusComes(dialog.getByRole("button", { name: "Cancel" }));
    await page.keyboard.press("Escape");
    await focusComes(lock);
  });
});
