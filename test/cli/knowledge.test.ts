import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { create, index } from "../api/knowledge/bases.ts";
import { scratchDirectory } from "../support/scratch.ts";
import { startWebsite } from "../support/website.ts";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { millrace } from "./millrace.ts";

let tenant: ApiTenant;
let environment: Record<string, string>;
beforeAll(async () => {
  tenant = await openTenant();
  environment = { MILLRACE_URL: tenant.target.url, MILLRACE_API_KEY: tenant.secretKey };
});

describe("millrace kb", () => {
  it("creates a knowledge base, lists and deletes it", async () => {
    const made = await millrace(["kb", "create", "Handbook", "--keyword-only", "--chunk-size", "900"], environment);
    expect(made.code, made.stderr).toBe(0);
    const [id = ""] = made.stdout.split(" ");
    const { body } = await tenant.secret.get(`/v2/knowledge-bases/${id}`);
    expect(body).toMatchObject({
      name: "Handbook",
      indexing_params: { embedding_params: { embedding_model: null }, chunker_params: { chunk_size: 900 } },
    });
    const { stdout } = await millrace(["kb", "list"], environment);
    expect(stdout).toMatch(new RegExp(`${id} +Handbook +keywords only +0 +0 +0`));
    expect((await millrace(["kb", "delete", id], environment)).stdout).toBe(`deleted ${id}\n`);
    expect((await tenant.secret.get(`/v2/knowledge-bases/${id}`)).status).toBe(404);
    const refused = await millrace(["kb", "create", "x".repeat(300)], environment);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("name")]);
  });

  it("searches it, and replaces control characters before printing", async () => {
    const { body } = await create(tenant);
    const id = body.knowledge_base_id;
    await index(tenant, id, ["Refunds take ten days.\u001b[2J"], { path: "refunds.txt" });
    const found = await millrace(["kb", "query", id, "refund"], { ...environment, FORCE_COLOR: "1" });
    expect(found.code, found.stderr).toBe(0);
    expect(found.stdout).toContain("refunds.txt");
    expect(found.stdout).toContain("\u001b[33mRefunds\u001b[39m");
    expect(found.stdout).toContain("ten days.\ufffd[2J");
    expect(found.stdout).toMatch(/1 result by keyword search in \d+ ms/);
    const piped = await millrace(["kb", "query", id, "refund"], environment);
    expect([piped.code, piped.stdout.includes("\u001b")]).toEqual([0, false]);
    const plain = await millrace(["kb", "query", id, "refund", "--json"], environment);
    expect(JSON.parse(plain.stdout).results).toHaveLength(1);
    const wrong = await millrace(["kb", "query", "handbook", "refund"], environment);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("kb list")]);
  });

  it("adds files, folders and URLs, and syncs", async () => {
    const { path, body } = await create(tenant);
    const id = body.knowledge_base_id;
    const folder = scratchDirectory();
    mkdirSync(join(folder, "notes/.hidden"), { recursive: true });
    writeFileSync(join(folder, "notes/refunds.md"), "# Refunds\n\nThey take ten days.");
    writeFileSync(join(folder, "notes/.hidden/secret.md"), "Not for you.");
    writeFileSync(join(folder, "tool.exe"), Buffer.from([0x4d, 0x5a, 0x90, 0]));
    const site = await startWebsite({ "/hours": "We open at nine." });
    const files = [join(folder, "notes"), join(folder, "tool.exe"), site.address("/hours")];
    const added = await millrace(["kb", "add", id, ...files], environment);
    expect([added.code, added.stdout]).toEqual([
      1,
      expect.stringMatching(/tool\.exe: .*415[^]*2 of 3 documents are indexed/),
    ]);
    writeFileSync(join(folder, "notes/refunds.md"), "# Refunds\n\nThey take twenty days.");
    const again = await millrace(["kb", "add", id, ...files.slice(0, 1), "--json"], environment);
    expect([again.code, JSON.parse(again.stdout)]).toEqual([
      0,
      [expect.objectContaining({ status: "indexed", error: null })],
    ]);
    const { data } = (await tenant.secret.get(`${path}/resources`)).body;
    expect(data.map((each: { resource_path: string }) => each.resource_path).toSorted()).toEqual(
      [site.address("/hours"), "refunds.md"].toSorted(),
    );
    const listed = await millrace(["kb", "documents", id], environment);
    expect(listed.stdout).toMatch(/^[0-9a-f-]{36} +indexed +1 +refunds\.md$/m);
    site.pages.set("/hours", "We open at ten.");
    const dry = await millrace(["kb", "sync", id, "--dry-run"], environment);
    expect([dry.code, dry.stdout]).toEqual([
      0,
      expect.stringContaining("Dry run completed: 0 added, 1 updated, 0 deleted"),
    ]);
    const synced = await millrace(["kb", "sync", id, "--json"], environment);
    expect(JSON.parse(synced.stdout)).toMatchObject({ state: "completed", counts: { updated: 1 } });
    const found = await millrace(["kb", "query", id, "open"], environment);
    expect(found.stdout).toContain("at ten.");
    const missing = await millrace(["kb", "add", id, join(folder, "nothing.md")], environment);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("Cannot read ")]);
    const empty = await millrace(["kb", "add", id, scratchDirectory()], environment);
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining("No file found in ")]);
    await site.close();
    const [document = ""] = listed.stdout.match(/[0-9a-f-]{36}(?=.*refunds\.md)/) ?? [];
    const removed = await millrace(["kb", "remove", id, document], environment);
    expect([removed.code, removed.stdout]).toEqual([0, `deleted ${document}\n`]);
    expect((await millrace(["kb", "documents", id], environment)).stdout).not.toContain("refunds.md");
    expect((await millrace(["kb", "remove", id, "refunds.md"], environment)).code).toBe(2);
  });
});
