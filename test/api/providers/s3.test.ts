import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../../support/client.ts";
import { findS3Program, startS3Server, type S3Server } from "../../support/s3-server.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { places } from "../webhooks/webhooks.ts";

const program = await findS3Program();

describe.skipIf("no" in program)(`s3${"no" in program ? `: ${program.no}` : ""}`, { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-s3-"));
  let mine: ApiTenant;
  let server: S3Server;
  let connection_id: string;

  beforeAll(async () => {
    if ("no" in program) return;
    [mine, server] = await Promise.all([openTenant(), startS3Server(program.path, folder)]);
    connection_id = (await create({})).connection_id;
  });
  afterAll(async () => {
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function create(more: Record<string, unknown>): Promise<Answer["body"]> {
    const { accessKeyId: access_key_id, secretAccessKey: secret_access_key } = server.credentials;
    const credential = { access_key_id, secret_access_key, endpoint: server.endpoint, ...more };
    const created = await mine.secret.post("/v2/connections", { name: "bucket", provider_id: "s3", credential });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    return created.body;
  }

  const run = (action: string, inputs: Record<string, unknown>, more = {}): Promise<Answer> =>
    mine.secret.post(`/v2/providers/s3/actions/${action}/run`, {
      inputs: { bucket: "blobs", ...inputs },
      connection_id,
      ...more,
    });
  async function outcome(action: string, inputs: Record<string, unknown>, more = {}): Promise<Answer["body"]> {
    const { status, body } = await run(action, inputs, more);
    expect(status, JSON.stringify(body)).toBe(200);
    return body;
  }

  it("puts, gets and lists objects, whatever their names", async () => {
    const names = ["plain.txt", "with blank+plus&amp <é> 100%.json", "a/b's (1).bin", "a/c.txt"];
    const bodies = [{ body: "text" }, { body: { a: [1] } }, { body_base64: btoa("\x00\x01") }, { body: "c" }];
    for (const [at, key] of names.entries()) {
      const put = await outcome("put_object", { key: `t/${key}`, ...bodies[at] });
      expect(put.outputs, JSON.stringify(put)).toMatchObject({ key: `t/${key}`, etag: expect.stringMatching(/^"/) });
    }
    const read = async (at: number): Promise<unknown> =>
      (await outcome("get_object", { key: `t/${names[at]}` })).outputs.body;
    expect(await read(0)).toBe("text");
    expect(await read(1)).toEqual({ a: [1] });
    expect(await read(2)).toMatchObject({ encoding: "base64", size: 2, data: btoa("\x00\x01") });
    const level = await outcome("list_objects", { prefix: "t/", delimiter: "/" });
    expect(level.outputs.prefixes).toEqual(["t/a/"]);
    expect(level.outputs.objects.map((each: { key: string }) => each.key).toSorted()).toEqual(
      [`t/${names[0]}`, `t/${names[1]}`].toSorted(),
    );
    const first = await outcome("list_objects", { prefix: "t/", max_keys: 3 });
    const rest = await outcome("list_objects", { prefix: "t/", max_keys: 3, cursor: first.outputs.cursor });
    expect([first.outputs.objects.length, rest.outputs.objects.length, rest.outputs.cursor]).toEqual([3, 1, null]);
  });

  it("reports what is wrong, without the credential", async () => {
    const missing = await outcome("get_object", { key: "not/there" });
    expect(missing.error).toMatchObject({ code: "action_refused", upstream_status: 404, retryable: false });
    expect(missing.error.message).toBe("S3 returned 404 NoSuchKey for GET.");
    expect((await outcome("list_objects", { bucket: "no-bucket" })).error.message).toContain("NoSuchBucket");
    for (const key of ["../x", "a/./b", ".."]) {
      expect((await outcome("get_object", { key })).error.code).toBe("invalid_action_inputs");
    }
    for (const inputs of [{ key: "x" }, { key: "x", body: "a", body_base64: "YQ==" }, { key: "x", body_base64: "?" }]) {
      expect((await outcome("put_object", inputs)).error.code).toBe("invalid_action_inputs");
    }
    for (const bucket of ["evil.example/x", "Upper", "a"]) {
      expect(places(await run("list_objects", { bucket }))).toEqual([["body", "inputs", "bucket"]]);
    }
    const dry = await outcome("put_object", { key: "dry", body: "x" }, { dry_run: true });
    expect(dry).toMatchObject({ outputs: null, rendered_request: { action: "put_object", key: "dry", body: "x" } });
    expect((await outcome("get_object", { key: "dry" })).successful).toBe(false);
    expect(JSON.stringify([missing, dry])).not.toContain(server.credentials.secretAccessKey);
  });

  it("checks the credential", async () => {
    const good = await mine.secret.post(`/v2/connections/${connection_id}/check`);
    expect(good.body).toMatchObject({ status: "active", status_reason: null });
    const wrong = await create({ secret_access_key: "another-secret" });
    expect(wrong).toMatchObject({ status: "error", status_reason: expect.stringContaining("SignatureDoesNotMatch") });
    const inner = await create({ endpoint: "http://169.254.169.254" });
    expect(inner).toMatchObject({
      status: "unverified",
      status_reason: expect.stringContaining("does not have a public"),
    });
  });
});
