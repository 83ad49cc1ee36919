import { describe, expect, it } from "vitest";
import { create } from "../api/knowledge/bases.ts";
import { echo } from "../api/tenant.ts";
import { signedIn } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

describe("a citation", () => {
  it("opens its document in the browser at the cited page, without running its scripts", async () => {
    const { path, body: base } = await create(tenant);
    const text = "<script>document.title = 'run'</script> What is cited.";
    const resources = `${path}/resources`;
    const { body: resource } = await tenant.secret.post(resources, { text, name: "notes.txt" });
    const project_id = await tenant.deploy(echo());
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "x" }, mode: "sync" });
    const { knowledge_base_id } = base;
    const { resource_id } = resource;
    const cited = { index: 1, knowledge_base_id, resource_id, resource_path: "notes.txt", page_start: 2, page_end: 3 };
    await tenant.withDatabase((database) =>
      database.system((db) =>
        db.query("update node_runs set citations = $2::jsonb where run_id = $1 and path = 'out-0'", [
          run.run_id,
          JSON.stringify([cited]),
        ]),
      ),
    );
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run.run_id}?node=out-0`);
    const list = page.getByRole("list", { name: "Citations" });
    await list.getByText("pages 2-3").waitFor();
    const [popup] = await Promise.all([
      page.waitForEvent("popup"),
      list.getByRole("link", { name: "notes.txt" }).click(),
    ]);
    await popup.getByText("What is cited.").waitFor();
    const address = `${tenant.target.url}${resources}/${resource_id}/download?disposition=inline#page=2`;
    expect(popup.url()).toBe(address);
    expect(await popup.title()).not.toBe("run");
    expect(await popup.evaluate("self.origin")).toBe("null");
  });
});

describe("a document download", () => {
  it("is saved under the document's name", async () => {
    const { path } = await create(tenant);
    const { page } = await signedIn(browser, tenant, "viewer", "/");
    const saved: (readonly [string, string])[] = [];
    // Chromium removes quotes, direction marks and path separators from file names.
    const names = [
      "café.txt",
      "日本語.pdf",
      'a "b" c.txt',
      "100%25.txt",
      "\u{1F600}.txt",
      "שלום.txt",
      "x\u202egpj.exe.txt",
    ];
    for (const name of names) {
      const form = new FormData();
      form.append("file", new Blob([name.endsWith(".pdf") ? "%PDF-1.4 " : "", `The text of ${name}`]), name);
      const { body } = await tenant.secret.post(`${path}/resources`, form);
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.evaluate(
          `Object.assign(document.createElement("a"), { href: "${path}/resources/${body.resource_id}/download" }).click()`,
        ),
      ]);
      saved.push([name, download.suggestedFilename()]);
    }
    expect(saved).toEqual(names.map((name) => [name, name.replaceAll(/["\u202e]/g, "_")]));
  });
});
