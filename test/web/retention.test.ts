import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { firstIdOf } from "../../src/domain/uuid.ts";
import { echo, openTenant, type ApiTenant } from "../api/tenant.ts";
import { startService, type OwnService, type Service } from "../support/service.ts";
import { address, checkBothLooks, signedIn, text, visit } from "./support/console.ts";
import { browser, useConsole } from "./support/shared-console.ts";

useConsole();

const PATH = "/v2/retention";
const DAY_MS = 86_400_000;
const inOrganisation = (page: Page) => page.getByRole("region", { name: "Runs of the organisation" });
const inProject = (page: Page) => page.getByRole("region", { name: "Runs of a project" });
/** The facts that a policy shows. */
const facts = async (part: ReturnType<typeof inProject>): Promise<string[]> => part.locator("dd").allTextContents();
const daysNow = async (tenant: ApiTenant, path = PATH): Promise<number | null> =>
  (await tenant.secret.get(path)).body.run_days;

/** Waits until the form of the previous project has been replaced by this one's. */
async function chooseProject(page: Page, project: string): Promise<void> {
  const read = page.waitForResponse((answer) => answer.url().endsWith(`/v2/projects/${project}/retention`));
  await page.getByRole("combobox", { name: "Project" }).selectOption(project);
  await read;
}
/** Closes the confirmation, because it blocks the fields behind it. */
async function leave(page: Page): Promise<void> {
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

/** Inserts runs that were created and finished this many days ago. */
const addEnded = (tenant: ApiTenant, project_id: string, count: number, created: number, ended: number) =>
  tenant.withDatabase((database) =>
    database.org(tenant.org_id, (db) =>
      db.query(
        `insert into runs (run_id, org_id, project_id, flow_version, state, inputs, run_type, ran_by_type, start_input, timeout_seconds,
             created_at, finished_at)
           select id, $1, $2, 1, 'COMPLETED', '{}', 'api', 'org_api_key', '{}', 60, $4, $5 from unnest($3::uuid[]) id`,
        [
          tenant.org_id,
          project_id,
          Array.from({ length: count }, (_, at) => firstIdOf(Date.now() - created * DAY_MS + at)),
          new Date(Date.now() - created * DAY_MS).toISOString(),
          new Date(Date.now() - ended * DAY_MS).toISOString(),
        ],
      ),
    ),
  );

async function openProjects(count: number, from?: Service): Promise<{ tenant: ApiTenant; projects: string[] }> {
  const tenant = await openTenant(from);
  const projects: string[] = [];
  for (let at = 0; at < count; at++) {
    const id = await tenant.deploy(echo());
    await tenant.secret.patch(`/v2/projects/${id}`, { name: `Project ${at}` });
    projects.push(id);
  }
  return { tenant, projects };
}

describe("retention", () => {
  it("shows how many runs a shorter retention deletes, and deletes none without confirmation", async () => {
    const { tenant, projects } = await openProjects(3);
    const [few = "", many = "", waited = ""] = projects;
    await addEnded(tenant, few, 2, 10, 10);
    // A long run: created before the limit, finished after it.
    await addEnded(tenant, few, 1, 11, 1);
    await addEnded(tenant, few, 1, 3, 3);
    await addEnded(tenant, many, 101, 20, 20);
    await addEnded(tenant, waited, 101, 21, 1);
    // These runs use another day, because IDs are derived from the time.
    await addEnded(tenant, waited, 2, 19, 19);
    const { page } = await signedIn(browser, tenant, "admin", `/retention?project=${few}`);
    const part = inProject(page);
    await part.getByText("forever").waitFor();
    expect(await facts(part)).toEqual(["forever", "not set", "none"]);
    const path = `/v2/projects/${few}/retention`;
    const dialog = page.getByRole("dialog");
    const days = page.getByLabel("Days for this project");
    /** Waits for the facts, and until the form accepts input again: Enter does nothing while it saves. */
    const shows = async (...expected: string[]) => {
      await expect.poll(() => facts(part)).toEqual(expected);
      await expect.poll(() => page.getByRole("button", { name: "Save" }).last().isEnabled()).toBe(true);
    };

    await days.fill("7");
    await page.keyboard.press("Enter");
    await dialog.getByText("2 runs finished more than 7 days ago.").waitFor();
    await checkBothLooks(page);
    // The focus is on the button that saves nothing.
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    expect(await daysNow(tenant, path)).toBeNull();
    expect(await days.inputValue()).toBe("7");

    await page.getByRole("button", { name: "Save" }).last().click();
    const seen = dialog.getByRole("link", { name: "View the runs" });
    const { searchParams } = new URL((await seen.getAttribute("href")) ?? "", address(tenant, "/"));
    expect([searchParams.get("project_id"), searchParams.getAll("state")]).toEqual([
      few,
      ["COMPLETED", "FAILED", "CANCELLED"],
    ]);
    expect(Math.abs(Date.parse(searchParams.get("created_before") ?? "") - (Date.now() - 7 * DAY_MS))).toBeLessThan(
      60_000,
    );
    await dialog.getByRole("button", { name: "Save and delete runs" }).click();
    await dialog.waitFor({ state: "detached" });
    await part.getByText("Saved.").waitFor();
    await shows("7 days after they finish", "this project", "7 days");
    expect(await daysNow(tenant, path)).toBe(7);

    // A longer retention, or none, deletes nothing and is saved without confirmation.
    await days.fill("30");
    await page.keyboard.press("Enter");
    await shows("30 days after they finish", "this project", "30 days");
    expect(await daysNow(tenant, path)).toBe(30);
    await days.fill("");
    await page.keyboard.press("Enter");
    await expect.poll(() => daysNow(tenant, path)).toBeNull();
    expect(await dialog.count()).toBe(0);

    // For many runs the page says that there are more; for none it says that nothing is deleted.
    await chooseProject(page, many);
    await days.fill("15");
    await page.keyboard.press("Enter");
    await dialog.getByText("100 or more runs finished more than 15 days ago.").waitFor();
    await leave(page);
    await days.fill("40");
    await page.keyboard.press("Enter");
    await dialog.getByText("No run finished more than 40 days ago").waitFor();
    await leave(page);
    // The oldest runs have finished recently.
    await chooseProject(page, waited);
    await days.fill("15");
    await page.keyboard.press("Enter");
    await dialog.getByText("2 runs finished more than 15 days ago.").waitFor();
    await leave(page);
    // Counts the runs of all projects.
    await page.getByLabel("Days for the organisation").fill("15");
    await page.keyboard.press("Enter");
    await dialog.getByText("103 runs finished more than 15 days ago.").waitFor();
  });

  it("shows who set the effective days, and why other values are invalid", async () => {
    const { tenant, projects } = await openProjects(1);
    const path = `/v2/projects/${projects[0]}/retention`;
    await tenant.secret.patch(path, { run_days: 60 });
    await tenant.secret.patch(PATH, { run_days: 30 });
    const { page } = await signedIn(browser, tenant, "admin", "/settings");
    await page.locator("#content").getByRole("link", { name: "Retention" }).click();
    await page.waitForURL(address(tenant, "/retention"));
    await inProject(page).getByText("60 days", { exact: true }).waitFor();
    const counts = ["30 days after they finish", "the organisation"];
    await expect.poll(() => facts(inProject(page))).toEqual([...counts, "60 days"]);
    await expect.poll(() => facts(inOrganisation(page))).toEqual([...counts, "30 days"]);
    const days = page.getByLabel("Days for this project");
    await text(page, "At most 30 days.");
    await days.fill("31");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("at most 30 days").waitFor();
    expect(await days.getAttribute("aria-invalid")).toBe("true");
    // A text that is not a number must not clear the days.
    for (const wrong of ["0", "-1", "1e", "7.5", "many"]) {
      await days.fill(wrong);
      await page.keyboard.press("Enter");
      await page.getByRole("alert").getByText("Enter a whole number of days").waitFor();
    }
    expect([await page.getByRole("dialog").count(), await daysNow(tenant, path)]).toEqual([0, 60]);
    const rest = page.getByRole("region", { name: "Other retention times" });
    await rest.getByText("30 d", { exact: true }).waitFor();
    await rest.getByText("90 d", { exact: true }).waitFor();
    await rest.getByText("24 h", { exact: true }).waitFor();
  });

  it("can be read by viewers, and set for a project by its admins", async () => {
    const { tenant, projects } = await openProjects(2);
    const [own = "", other = ""] = projects;
    await tenant.secret.patch(PATH, { run_days: 30 });
    const viewer = await signedIn(browser, tenant, "viewer", "/retention");
    await inOrganisation(viewer.page).getByText("30 days after they finish").waitFor();
    await inProject(viewer.page).getByText("30 days after they finish").waitFor();
    expect(await viewer.page.getByText("Only admins can change this.").count()).toBe(2);
    expect(await viewer.page.getByRole("button", { name: "Save" }).count()).toBe(0);

    const { page, email } = await signedIn(browser, tenant, "member", "/nothing");
    const { body: users } = await tenant.secret.get("/v2/users?page_size=200");
    const { user_id } = users.data.find((each: { email: string }) => each.email === email);
    await tenant.secret.put(`/v2/projects/${own}/members/${user_id}`, { role: "admin" });
    await tenant.secret.put(`/v2/projects/${other}/members/${user_id}`, { role: "viewer" });
    const refused: string[] = [];
    page.on("response", (answer) => {
      if (answer.status() === 403) refused.push(answer.url());
    });
    await page.goto(address(tenant, `/retention?project=${own}`));
    await page.getByLabel("Days for this project").fill("5");
    await page.keyboard.press("Enter");
    // The project has no runs, so nothing is deleted.
    await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await expect.poll(() => daysNow(tenant, `/v2/projects/${own}/retention`)).toBe(5);
    await expect.poll(() => facts(inProject(page))).toEqual(["5 days after they finish", "this project", "5 days"]);
    expect(await inOrganisation(page).count()).toBe(0);
    await visit(page, `/retention?project=${other}`);
    await inProject(page).getByText("the organisation or the operator").waitFor();
    expect(await page.getByRole("button", { name: "Save" }).count()).toBe(0);
    expect(refused).toEqual([]);
  });
});

describe("retention with days set by the installation", () => {
  let own: OwnService;
  beforeAll(async () => {
    own = await startService({ env: { MILLRACE_RUN_RETENTION_DAYS: "45" } });
  }, 120_000);
  afterAll(() => own?.close());

  it("shows that these days apply, and rejects more days", async () => {
    const { tenant } = await openProjects(1, own);
    const { page } = await signedIn(browser, tenant, "admin", "/retention");
    const counts = ["45 days after they finish", "the operator", "none"];
    await inProject(page).getByText("45 days after they finish").waitFor();
    await expect.poll(() => facts(inProject(page))).toEqual(counts);
    await expect.poll(() => facts(inOrganisation(page))).toEqual(counts);
    await page.getByLabel("Days for the organisation").fill("46");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("a limit of the installation").waitFor();
  });
});
