import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../../support/client.ts";
import { findS3Program, startS3Server, type S3Server } from "../../support/s3-server.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { places } from "../webhooks/webhooks.ts";
import { create, KEYWORDS, PATH } from "./bases.ts";
import { run } from "./syncs.ts";

const program = await findS3Program();

describe.skipIf("no" in program)(`buckets${"no" in program ? `: ${program.no}` : ""}`, { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-s3-"));
  let tenant: ApiTenant;
  let server: S3Server;
  let connection_id: string;

  beforeAll(async () => {
    if ("no" in program) return;
    [tenant, server] = await Promise.all([openTenant(), startS3Server(program.path, folder)]);
    const { accessKeyId: access_key_id, secretAccessKey: secret_access_key } = server.credentials;
    const credential = { access_key_id, secret_access_key, endpoint: server.endpoint };
    const body = { name: "files", provider_id: "s3", credential };
    connection_id = (await tenant.secret.post("/v2/connections", body)).body.connection_id;
  });
  afterAll(async () => {
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function put(key: string, body: string): Promise<void> {
    const inputs = { bucket: "blobs", key, body };
    const path = "/v2/providers/s3/actions/put_object/run";
    const answer = await tenant.secret.post(path, { inputs, connection_id });
    expect(answer.body.successful, JSON.stringify(answer.body)).toBe(true);
  }

  const sync = (path: string, body: Record<string, unknown> = {}): Promise<Answer["body"]> => run(tenant, path, body);

  it("are a source: a sync reports added, changed, unreadable and deleted objects", async () => {
    await put("docs/a b.md", "# Refunds\n\nRefunds take five days.");
    await put("docs/b.txt", "The office is closed on Sundays.");
    await put("docs/broken.pdf", "%PDF-1.4 this is none");
    await put("docs/archive.zip", "PK\u0003\u0004");
    await put("elsewhere/c.txt", "Not part of it.");
    const { path, body } = await create(tenant, { connection_id, connection_source_ids: ["blobs/docs/"] });
    expect(body).toMatchObject({ connection_id, connection_source_ids: ["blobs/docs/"] });
    const first = await sync(path);
    expect(first).toMatchObject({ state: "completed", counts: { added: 2, failed: 2, unchanged: 0 } });
    const found = await tenant.secret.post(`${path}/query`, { query: "refunds" });
    expect(found.body.results[0]).toMatchObject({ source_url: "s3://blobs/docs/a b.md" });

    expect(await sync(path)).toMatchObject({ counts: { added: 0, updated: 0, unchanged: 2, failed: 2 } });
    await put("docs/b.txt", "The office is open on Sundays.");
    rmSync(join(folder, "data", "blobs", "docs", "a b.md"));
    const dry = await sync(path, { mode: "dry_run" });
    expect(dry.counts).toMatchObject({ added: 0, deleted: 1 });
    expect((await sync(path)).counts).toMatchObject({ updated: 1, deleted: 1 });
    const { body: left } = await tenant.secret.get(`${path}/resources`, { query: { status: "indexed" } });
    expect(left.data.map((each: { source_url: string }) => each.source_url)).toEqual(["s3://blobs/docs/b.txt"]);
  });

  it("fail the sync if they cannot be listed, and no document is deleted", async () => {
    await put("kept/a.txt", "Kept.");
    const { path } = await create(tenant, { connection_id, connection_source_ids: ["blobs/kept"] });
    expect((await sync(path)).counts).toMatchObject({ added: 1 });
    await tenant.secret.patch(path, { connection_source_ids: ["not-there/kept"] });
    const failed = await sync(path);
    expect(failed).toMatchObject({ state: "failed", error: { code: "source_unavailable" }, counts: { deleted: 0 } });
    expect(JSON.stringify(failed)).not.toContain(server.credentials.secretAccessKey);
    await tenant.secret.patch(`/v2/connections/${connection_id}`, { disabled: true });
    expect((await sync(path)).error.message).toContain("disabled");
    await tenant.secret.patch(`/v2/connections/${connection_id}`, { disabled: false });
  });

  it("require an S3 connection of the organisation, and prevent its deletion", async () => {
    const { path, body } = await create(tenant, { connection_id, connection_source_ids: ["blobs"] });
    const refused = await tenant.secret.delete(`/v2/connections/${connection_id}`);
    expect([refused.status, refused.body.code]).toEqual([409, "in_use"]);
    const { knowledge_base_id, name } = body;
    expect(refused.body.used_by).toContainEqual({ knowledge_base_id, name });
    const mail = await tenant.secret.post("/v2/connections", {
      name: "mail",
      provider_id: "smtp",
      scheme: "none",
      credential: { host: "127.0.0.1", port: 1 },
    });
    const others = await openTenant();
    const theirs = { name: "x", indexing_params: KEYWORDS, connection_id };
    expect(places(await others.secret.post(PATH, theirs))).toEqual([["body", "connection_id"]]);
    const wrong = { connection_id: mail.body.connection_id };
    expect(places(await tenant.secret.patch(path, wrong))).toEqual([["body", "connection_id"]]);
    for (const [source, problem] of [
      ["Blobs/docs", /"Blobs" .* capital letters/],
      ["s3://blobs/docs/", /is a URL.*"blobs\/docs\/"/],
      ["https://blobs.s3.amazonaws.com/Über docs", /"blobs.s3.amazonaws.com\/Über docs"/],
      ["s3:///docs", /is a URL. Write bucket\/prefix/],
      ["/blobs/docs", /begins with "\/"/],
      ["ab", /2 characters/],
      ["blobs_2/docs", /"blobs_2" .* letters a to z/],
      ["-blobs", /at both ends/],
    ] as const) {
      const refused = await tenant.secret.patch(path, { connection_source_ids: ["blobs", source] });
      expect(places(refused)).toEqual([["body", "connection_source_ids", 1]]);
      expect(refused.body.detail[0].msg).toMatch(problem);
    }
    expect(places(await tenant.secret.patch(path, { connection_id: null }))).toEqual([
      ["body", "connection_source_ids"],
    ]);
    const free = await tenant.secret.patch(path, { connection_id: null, connection_source_ids: [] });
    expect(free.body).toMatchObject({ connection_id: null, connection_source_ids: [] });
  });
});
