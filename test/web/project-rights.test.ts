import { expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { signedIn, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

it("a user who is editor of one project can act on its runs only", async () => {
  const [edited, read] = [await tenant.deploy(echo()), await tenant.deploy(echo())];
  const start = async (project_id: string): Promise<string> =>
    (await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "x" }, mode: "sync" })).body.run_id;
  const [mine, seen] = [await start(edited), await start(read)];
  const { page, email } = await signedIn(browser, tenant, "member", "/settings");
  const { user_id } = (await tenant.secret.get("/v2/users?page_size=200")).body.data.find(
    (each: { email: string }) => each.email === email,
  );
  await tenant.secret.put(`/v2/projects/${edited}/members/${user_id}`, { role: "editor" });
  await tenant.secret.put(`/v2/projects/${read}/members/${user_id}`, { role: "viewer" });
  await page.reload();
  const acts = ["Resume from…", "Rerun…"];
  await visit(page, `/runs/${mine}`);
  for (const name of acts) await page.getByRole("button", { name }).waitFor();
  await visit(page, `/runs/${seen}`);
  await page.locator("dl").getByTitle(seen).first().waitFor();
  await page.getByRole("button", { name: "Compare…" }).waitFor();
  for (const name of acts) expect(await page.getByRole("button", { name }).count()).toBe(0);
});
