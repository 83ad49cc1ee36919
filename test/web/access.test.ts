import { describe, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { insertUser } from "../../src/stores/accounts/users.ts";
import { asking, openTenant } from "../api/tenant.ts";
import { checkBothLooks, signedIn, text, violations, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

const usersNow = async (): Promise<Array<{ email: string; role: string; disabled: boolean }>> =>
  (await tenant.secret.get("/v2/users?page_size=200")).body.data;

describe("users", () => {
  it("can be added, given another role, disabled after a confirmation, and enabled again", async () => {
    const { page } = await signedIn(browser, tenant, "admin", "/access");
    await page.getByRole("button", { name: "Add a user" }).click();
    await page.getByLabel("Email address").fill("new@example.test");
    await page.getByLabel("Password").fill("short");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await expect.poll(() => page.getByLabel("Password").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("Password").fill("a long enough password");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const row = page.locator("tbody tr").filter({ hasText: "new@example.test" });
    const now = async () => (await usersNow()).find(({ email }) => email === "new@example.test");
    expect(await now()).toMatchObject({ role: "viewer", disabled: false });

    // An arrow key changes only the selection.
    await row.getByRole("combobox").focus();
    await page.keyboard.press("ArrowDown");
    await row.getByRole("button", { name: "Change to editor" }).waitFor();
    expect(await now()).toMatchObject({ role: "viewer" });
    await row.getByRole("button", { name: "Change to editor" }).click();
    await row.getByRole("button", { name: "Change to editor" }).waitFor({ state: "detached" });
    expect(await now()).toMatchObject({ role: "editor" });

    await row.getByRole("button", { name: "Disable…" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(await now()).toMatchObject({ disabled: false });
    await row.getByRole("button", { name: "Disable…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disable", exact: true }).click();
    await row.getByRole("button", { name: "Enable" }).waitFor();
    expect(await now()).toMatchObject({ disabled: true });
    await row.getByRole("button", { name: "Enable" }).click();
    await row.getByRole("button", { name: "Disable…" }).waitFor();
  });
});

describe("a user with API keys", () => {
  it("is given a lower role, disabled or deleted only after a dialog that names the consequences", async () => {
    const { body: user } = await tenant.secret.post("/v2/users", {
      email: "leaving@example.test",
      password: "a long enough password",
      role: "admin",
    });
    const now = async () => (await tenant.secret.get(`/v2/users/${user.user_id}`)).body;
    const { page } = await signedIn(browser, tenant, "admin", "/access");
    const row = page.locator("tbody tr").filter({ hasText: "leaving@example.test" });
    const dialog = page.getByRole("dialog");
    const gone = dialog.getByText(/permanently revokes every API key this user created/i);
    await row.getByRole("combobox").selectOption("viewer");
    await row.getByRole("button", { name: "Change to viewer" }).click();
    await gone.waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await now()).toMatchObject({ role: "admin" });
    await row.getByRole("button", { name: "Change to viewer" }).click();
    await dialog.getByRole("button", { name: "Change to viewer" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await now()).toMatchObject({ role: "viewer" });
    await row.getByRole("button", { name: "Disable…" }).click();
    await gone.waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await row.getByRole("button", { name: "Delete…" }).click();
    await gone.waitFor();
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await row.waitFor({ state: "detached" });
  });

  it("is found however many users exist", async () => {
    const others = await openTenant();
    await others.withDatabase((database) =>
      database.org(others.org_id, async (db) => {
        for (let n = 0; n < 405; n++)
          await insertUser(db, {
            user_id: uuidv7(),
            org_id: others.org_id,
            email: `user-${n}@example.test`,
            role: "viewer",
            password_hash: "none",
          });
      }),
    );
    const { page } = await signedIn(browser, others, "admin", "/access");
    const table = page.getByRole("table", { name: "Users" });
    await table.locator("tbody tr").first().waitFor();
    expect(await table.getAttribute("aria-rowcount")).toBe("407");
    // Rows are drawn as the window comes near them.
    for (const n of [404, 0]) {
      await page.evaluate(`scrollTo(0, ${n === 0 ? "document.body.scrollHeight" : "0"})`);
      await table.getByText(`user-${n}@example.test`).waitFor();
    }
  });
});

describe("roles in projects", () => {
  it("can be set, changed and removed by an admin", async () => {
    const project_id = await tenant.deploy(asking());
    await tenant.secret.patch(`/v2/projects/${project_id}`, { name: "greetings" });
    const { body: user } = await tenant.secret.post("/v2/users", {
      email: "guest@example.test",
      password: "a long enough password",
      role: "member",
    });
    const now = async () =>
      (await tenant.secret.get(`/v2/users/${user.user_id}/projects`)).body.data.map(
        ({ project_name, role }: Record<string, string>) => [project_name, role],
      );
    const { page } = await signedIn(browser, tenant, "admin", "/access");
    const row = page.locator("tbody tr").filter({ hasText: "guest@example.test" });
    await row.getByRole("button", { name: "Project roles…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("This user sees only these projects.").waitFor();
    await dialog.getByLabel("Project", { exact: true }).selectOption({ label: "greetings" });
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    const role = dialog.getByLabel("Role in greetings", { exact: true });
    await role.waitFor();
    expect(await now()).toEqual([["greetings", "viewer"]]);
    await role.selectOption("editor");
    expect(await now()).toEqual([["greetings", "viewer"]]);
    await dialog.getByRole("button", { name: "Change to editor" }).click();
    await expect.poll(now).toEqual([["greetings", "editor"]]);
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Remove the role in greetings" }).click();
    await role.waitFor({ state: "detached" });
    expect(await now()).toEqual([]);
  });

  it("decide which actions a member is offered", async () => {
    const [edited, read, hidden] = [
      await tenant.deploy(asking()),
      await tenant.deploy(asking()),
      await tenant.deploy(asking()),
    ];
    const start = async (project_id: string): Promise<string> =>
      (await tenant.secret.post("/v2/runs", { project_id, inputs: {} })).body.run_id;
    const [mine, seen, theirs] = [await start(edited), await start(read), await start(hidden)];
    await Promise.all([mine, seen, theirs].map((id) => tenant.until(id, "PAUSED")));
    const { page, email } = await signedIn(browser, tenant, "member", "/");
    const refused: string[] = [];
    page.on("response", (answer) => {
      if (answer.status() === 403) refused.push(answer.url());
    });
    const { user_id } = (await tenant.secret.get("/v2/users?page_size=200")).body.data.find(
      (each: { email: string }) => each.email === email,
    );
    await tenant.secret.put(`/v2/projects/${edited}/members/${user_id}`, { role: "editor" });
    await tenant.secret.put(`/v2/projects/${read}/members/${user_id}`, { role: "viewer" });
    await page.reload();
    await page.getByText("Waiting for approval").waitFor();
    expect(await page.getByText("Failing webhooks").count()).toBe(0);
    expect(await page.getByRole("navigation", { name: "Pages" }).getByText("Webhooks").count()).toBe(0);
    await visit(page, "/settings");
    await page.getByRole("heading", { name: "Limits" }).waitFor();
    await visit(page, "/inbox?show=all");
    await expect.poll(() => page.locator("a[href*='/inbox/']").count()).toBe(2);
    await visit(page, `/runs/${mine}`);
    await page.getByRole("button", { name: "Cancel…" }).waitFor();
    await visit(page, `/runs/${seen}`);
    // The page of the first run has that button too, so the second page must have replaced it.
    await page.locator("dl").getByTitle(seen).first().waitFor();
    await page.getByRole("button", { name: "Compare…" }).waitFor();
    expect(await page.getByRole("button", { name: "Cancel…" }).count()).toBe(0);
    await visit(page, `/runs/${theirs}`);
    await page.getByText("Run not found").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: "Settings" }).waitFor();
    for (const name of ["Webhooks", "Connections"]) expect(await page.getByRole("option", { name }).count()).toBe(0);
    expect(refused).toEqual([]);
  });
});

describe("the members of a project", () => {
  const user = async (email: string): Promise<string> =>
    (await tenant.secret.get("/v2/users?page_size=200")).body.data.find(
      (each: { email: string }) => each.email === email,
    ).user_id;
  const roles = async (project_id: string): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await tenant.secret.get(`/v2/projects/${project_id}/members`)).body.data.map(
        ({ email, role }: Record<string, string>) => [email, role],
      ),
    );

  it("can be set by an admin of the project, who has no other rights in the organisation", async () => {
    const [own, other] = [await tenant.deploy(asking()), await tenant.deploy(asking())];
    await tenant.secret.patch(`/v2/projects/${own}`, { name: "Ours" });
    const { page, email } = await signedIn(browser, tenant, "member", "/access");
    const tabs = page.getByRole("navigation", { name: "Access" });
    await page.getByRole("region", { name: "Sessions" }).waitFor();
    // Without the role, or with a lower one, the page offers none of it.
    expect(await tabs.count()).toBe(0);
    const boss = await user(email);
    const path = (project_id: string, user_id: string) => `/v2/projects/${project_id}/members/${user_id}`;
    await tenant.secret.put(path(own, boss), { role: "admin" });
    await tenant.secret.put(path(other, boss), { role: "editor" });
    await tenant.secret.post("/v2/users", {
      email: "invited@example.test",
      password: "a long enough password",
      role: "member",
    });
    const refused: string[] = [];
    page.on("response", (answer) => {
      if (answer.status() === 403) refused.push(answer.url());
    });
    await page.reload();
    await page.getByRole("region", { name: "Members", exact: true }).waitFor();
    expect(await tabs.getByRole("link").allTextContents()).toEqual(["Project roles", "Sessions"]);
    const choice = page.getByRole("combobox", { name: "Project" });
    expect(await choice.locator("option").allTextContents()).toEqual(["Ours"]);
    expect(await violations(page)).toEqual([]);
    const give = page.getByRole("button", { name: "Add member" });
    expect(await give.count()).toBe(0);
    await page.getByLabel("Email address").fill("Invited@example.test");
    await page.keyboard.press("Enter");
    await page.getByText("invited@example.test has no role in this project yet.").waitFor();
    // Tab moves to the search button, the role, and the button that adds the member.
    for (const key of ["Tab", "Tab", "Tab"]) await page.keyboard.press(key);
    expect(await roles(own)).toEqual({ [email]: "admin" });
    await checkBothLooks(page);
    await page.keyboard.press("Enter");
    const role = page.getByLabel("Role of invited@example.test", { exact: true });
    await role.selectOption("editor");
    expect(await roles(own)).toEqual({ [email]: "admin", "invited@example.test": "viewer" });
    await page.getByRole("button", { name: "Change to editor" }).click();
    await expect.poll(() => roles(own)).toEqual({ [email]: "admin", "invited@example.test": "editor" });
    // The form is reset, and the search result disappears together with its address.
    await expect.poll(() => page.getByLabel("Email address").inputValue()).toBe("");
    expect(await give.count()).toBe(0);
    await page.getByLabel("Email address").fill("invited@example.test");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByText("invited@example.test has the role editor in this project.").waitFor();
    await page.getByLabel("Email address").fill("nobody@example.test");
    await give.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByRole("alert").getByText("No user in this organisation has this email address.").waitFor();
    await page.getByLabel("Email address").fill("invited");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByRole("alert").getByText("Enter a complete email address.").waitFor();
    expect(await page.getByLabel("Email address").getAttribute("aria-invalid")).toBe("true");
    expect(await give.count()).toBe(0);
    await page.getByRole("button", { name: "Remove the role of invited@example.test" }).click();
    await role.waitFor({ state: "detached" });
    expect(await roles(own)).toEqual({ [email]: "admin" });
    expect(refused).toEqual([]);
    // After giving up the own role, the user can manage nothing here.
    await page.getByRole("button", { name: `Remove the role of ${email}` }).click();
    await page.getByRole("region", { name: "Sessions" }).waitFor();
    await expect.poll(() => tabs.count()).toBe(0);
  });

  it("can be chosen from all users by an admin of the organisation", async () => {
    const project = await tenant.deploy(asking());
    await tenant.secret.patch(`/v2/projects/${project}`, { name: "Chosen" });
    await tenant.secret.post("/v2/users", {
      email: "pick@example.test",
      password: "a long enough password",
      role: "member",
    });
    const { page } = await signedIn(browser, tenant, "admin", "/access?tab=members");
    await page.getByRole("combobox", { name: "Project" }).selectOption({ label: "Chosen" });
    await page.waitForURL(new RegExp(`project=${project}`));
    await page.getByText("No members yet").waitFor();
    await page.getByLabel("User", { exact: true }).selectOption({ label: "pick@example.test" });
    await page.getByRole("button", { name: "Add member" }).click();
    await page.getByLabel("Role of pick@example.test", { exact: true }).waitFor();
    expect(await roles(project)).toEqual({ "pick@example.test": "viewer" });
    const offered = await page.getByLabel("User", { exact: true }).locator("option").allTextContents();
    expect(offered).not.toContain("pick@example.test");
  });
});

describe("API keys", () => {
  it("can be restricted, and show what is wrong with a restriction", async () => {
    const { page } = await signedIn(browser, tenant, "admin", "/settings");
    await page.getByRole("link", { name: "Manage API keys" }).click();
    await page.getByRole("button", { name: "Create API key" }).click();
    await page.getByLabel("Name").fill("dashboard");
    await page.getByText("Restrictions", { exact: true }).last().click();
    await page.getByLabel("Read-only").check();
    await page.getByLabel("Scopes (optional)").fill("runs:read, evals:read");
    await page.getByLabel("IP addresses (optional)").fill("here");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Must be an IP address or a network (CIDR)").waitFor();
    await page.getByLabel("IP addresses (optional)").fill("192.0.2.0/24 2001:db8::/32");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("button", { name: "Done" }).click();
    const row = page.locator("tbody tr").filter({ hasText: "dashboard" });
    await row.getByText("read-only, runs:read, evals:read, address: 192.0.2.0/24 2001:db8::/32").waitFor();
  });

  it.each(["Pacific/Auckland", "America/Los_Angeles"])(
    "expire at the end of a day in %s, are shown once, and can be revoked by keyboard",
    async (timeZone) => {
      const name = `till ${timeZone}`;
      const { page, context } = await signedIn(browser, tenant, "admin", "/access?tab=keys", { timeZone });
      await page.getByRole("button", { name: "Create API key" }).click();
      await page.getByLabel("Name").fill(name);
      await page.getByLabel("Expires (optional)").fill("2031-01-15");
      await page.getByRole("button", { name: "Create key" }).click();
      const key = await page.getByRole("dialog").locator("code").innerText();
      expect(key).toMatch(/^mr_pub_/);
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.getByRole("button", { name: "Copy key" }).click();
      await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe(key);
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByText(key).waitFor({ state: "detached" });
      const kept = (await tenant.secret.get("/v2/api-keys?page_size=200")).body.data.find(
        (each: { name: string }) => each.name === name,
      );
      const local = new Intl.DateTimeFormat("en-CA", {
        timeZone,
        dateStyle: "short",
        timeStyle: "medium",
        hour12: false,
      });
      expect(local.format(new Date(kept.expires_at))).toBe("2031-01-15, 23:59:59");

      const row = page.locator("tbody tr").filter({ hasText: name });
      await row.waitFor();
      await page.keyboard.press("j");
      await row.locator("[data-row]").focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
      await row.waitFor({ state: "detached" });
    },
  );
});

describe("sessions", () => {
  it("can be ended from another session", async () => {
    // Signed in one after the other, because the list of sessions is read once and must contain both.
    const one = await signedIn(browser, tenant, "editor", "/runs");
    const other = await signedIn(browser, tenant, "admin", "/access?tab=sessions");
    const row = other.page.locator("tbody tr").filter({ hasText: one.email });
    await row.getByRole("button", { name: "End" }).click();
    await row.waitFor({ state: "detached" });
    await one.page.getByLabel("Password").waitFor();
  });
});

describe("settings", () => {
  it("can be saved by an admin, persist after a reload, and are read-only for others", async () => {
    const { page } = await signedIn(browser, tenant, "admin", "/settings");
    await page.getByLabel("Model", { exact: true }).fill("small-1");
    await page.getByRole("button", { name: "Save" }).click();
    await text(page, "Saved.");
    expect((await tenant.secret.get("/v2/settings")).body.default_model).toBe("small-1");
    await page.reload();
    await expect.poll(() => page.getByLabel("Model", { exact: true }).inputValue()).toBe("small-1");
    // A minimum must not be shown as a maximum.
    await text(page, "Shortest time between runs of a schedule");
    expect(await page.locator("main").innerText()).not.toMatch(/\b0 (?:min|h|s)\b/);
    const reader = await signedIn(browser, tenant, "viewer", "/settings");
    await text(reader.page, "Only admins can change these settings.");
    expect(await reader.page.getByLabel("Model", { exact: true }).isDisabled()).toBe(true);
  });
});

describe("the audit log", () => {
  it("shows actor, action and target on a phone without horizontal scrolling", async () => {
    const { page } = await signedIn(browser, tenant, "admin", "/access?tab=audit", { width: 360 });
    const log = page.getByRole("region", { name: "Audit log" });
    await log.getByRole("columnheader", { name: "Actor" }).waitFor();
    await log.locator("tbody td").first().waitFor();
    expect(await log.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    expect(await log.getByRole("columnheader", { name: "Target" }).count()).toBe(0);
    expect(await log.locator("tbody tr").first().locator(".narrow-only").isVisible()).toBe(true);
  });
});
