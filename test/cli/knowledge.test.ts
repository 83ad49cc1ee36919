import { beforeAll, describe, expect, it } from "vitest";
import { create, index } from "../api/knowledge/bases.ts";
import { openTenant } from "../api/tenant.ts";
import type { ApiTenant } from "../api/tenant.ts";
import { millrace } from "./millrace.ts";

let tenant: ApiTenant;
let environment: Record<string, string>;
beforeAll(async () => {
  tenant = await openTenant();
  environment = { MILLRACE_URL: tenant.target.url, MILLRACE_API_KEY: tenant.secretKey };
});

describe("millrace kb", () => {
  it("creates a knowledge base and lists it", async () => {
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
    const refused = await millrace(["kb", "create", "x", "--chunk-size", "100"], environment);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("chunk_overlap")]);
  });

  it("searches it, and passes nothing on that a terminal would obey", async () => {
    const { body } = await create(tenant);
    const id = body.knowledge_base_id;
    await index(tenant, id, ["Refunds take ten days.\u001b[2J"], { path: "refunds.txt" });
    const found = await millrace(["kb", "query", id, "refund"], { ...environment, FORCE_COLOR: "1" });
    expect(found.code, found.stderr).toBe(0);
    expect(found.stdout).toContain("refunds.txt");
    expect(found.stdout).toContain("\u001b[33mRefunds\u001b[39m");
    expect(found.stdout).toContain("ten days.\ufffd[2J");
    expect(found.stdout).toMatch(/1 result by keyword search in \d+ ms/);
    const plain = await millrace(["kb", "query", id, "refund", "--json"], environment);
    expect(JSON.parse(plain.stdout).results).toHaveLength(1);
    const wrong = await millrace(["kb", "query", "handbook", "refund"], environment);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("kb list")]);
  });
});
