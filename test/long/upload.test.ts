import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { create } from "../api/knowledge/bases.ts";
import { openTenant } from "../api/tenant.ts";
import { findS3Program, startS3Server, type S3Server } from "../support/s3-server.ts";
import { startService, type OwnService } from "../support/service.ts";
import { MASTER_KEY } from "../support/payloads.ts";

const MIB = 1024 * 1024;
const program = await findS3Program();

/** Resident memory of a process (MiB). */
function residentMib(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** A multipart body with one file of this size (MiB), generated while it is sent. */
function upload(mib: number) {
  const boundary = "millrace-test";
  async function* body() {
    yield Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${mib}.txt"\r\ncontent-type: text/plain\r\n\r\n`,
    );
    for (let n = 0; n < mib; n += 1) yield Buffer.alloc(MIB, "text ");
    yield Buffer.from(`\r\n--${boundary}--\r\n`);
  }
  const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
  return { method: "POST", headers, body: ReadableStream.from(body()), duplex: "half" } as const;
}

describe.each(["a directory", "S3"])("an upload of 100 MiB, with blobs in %s", (kind) => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-upload-"));
  let s3: S3Server | undefined;
  let service: OwnService | undefined;
  afterAll(async () => {
    await service?.close();
    await s3?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.skipIf(kind === "S3" && "no" in program)("takes less than 50 MiB of the api's memory", async () => {
    if (kind === "S3" && "path" in program) s3 = await startS3Server(program.path, folder);
    const env: Record<string, string> = s3
      ? {
          MILLRACE_BLOB_URL: s3.url,
          MILLRACE_S3_ACCESS_KEY_ID: s3.credentials.accessKeyId,
          MILLRACE_S3_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
          MILLRACE_MASTER_KEY: MASTER_KEY,
        }
      : {};
    service = await startService({ env, workers: 0 });
    const tenant = await openTenant(service);
    const base = await create(tenant);
    const pid = service.api[0]?.pid() ?? 0;
    const send = async (mib: number) => {
      const { headers, ...request } = upload(mib);
      const authorization = `Bearer ${tenant.secretKey}`;
      const answer = await fetch(`${service?.url}${base.path}/resources`, {
        ...request,
        headers: { ...headers, authorization },
      });
      expect([answer.status, await answer.text()]).toMatchObject([202, expect.stringContaining("resource_id")]);
    };
    // A first upload loads code and buffers that must not count as memory of the second.
    await send(1);
    const before = residentMib(pid);
    let peak = before;
    const watch = setInterval(() => (peak = Math.max(peak, residentMib(pid))), 10);
    await send(100).finally(() => clearInterval(watch));
    console.log(`${kind}: ${before.toFixed(0)} MiB before, ${peak.toFixed(0)} MiB at most`);
    expect(peak - before).toBeLessThan(50);
  });
});
