import { request } from "node:http";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { service } from "../../support/service.ts";

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(new URL(path, service().url), { headers, redirect: "manual" });

describe("the console's files", () => {
  let script = "";
  beforeAll(async () => {
    const page = await (await get("/console")).text();
    script = /src="(\/console\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? "";
  });

  it("include a page at every URL below /console, which browsers must revalidate", async () => {
    for (const path of ["/console", "/console/", "/console/runs/x?node=a", "/console/no/such"]) {
      const page = await get(path);
      expect(page.status, path).toBe(200);
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(page.headers.get("cache-control")).toBe("no-cache");
      const again = await get(path, { "if-none-match": page.headers.get("etag") ?? "" });
      expect(again.status).toBe(304);
    }
    expect((await get("/consolex")).status).toBe(404);
  });

  it("console-xss, clickjacking: allow no inline scripts, no markup from text, and no framing", async () => {
    const policy = (await get("/console")).headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe|data:|\*/);
    expect(await (await get("/console")).text()).not.toMatch(/<style|style=|<script>/);
  });

  it("are cached forever if they are assets, in the accepted encoding", async () => {
    const plain = await get(script, { "accept-encoding": "identity" });
    expect(plain.status).toBe(200);
    expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(plain.headers.get("content-encoding")).toBeNull();
    const text = await plain.text();
    for (const coding of ["gzip", "br"]) {
      const answer = await get(script, { "accept-encoding": coding });
      expect(answer.headers.get("content-encoding")).toBe(coding);
      expect(answer.headers.get("vary")).toBe("Accept-Encoding");
      expect(await answer.text()).toBe(text);
    }
    expect((await get("/console/assets/none.js")).status).toBe(404);
    expect((await get("/console/assets/..%2f..%2fpackage.json")).status).toBe(404);
  });

  it("reject other methods", async () => {
    const answer = await fetch(new URL("/console/runs", service().url), { method: "POST" });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe("GET, HEAD");
  });

  it("are at most 300 kB, compressed, for the first page", async () => {
    const page = await (await get("/console")).text();
    const files = [...page.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+\.(?:js|css))"/g)].map(
      (match) => match[1] ?? "",
    );
    let bytes = 0;
    for (const file of files) bytes += await gzipped(file);
    expect(files.length).toBeGreaterThan(1);
    expect(bytes).toBeLessThan(300_000);
  });
});

/** Bytes transferred over the network; fetch itself returns the decompressed content. */
async function gzipped(path: string): Promise<number> {
  const body = await new Promise<Buffer>((resolve, reject) => {
    const sent = request(new URL(path, service().url), { headers: { "accept-encoding": "gzip" } }, (res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("end", () => resolve(Buffer.concat(chunks)));
    });
    sent.on("error", reject).end();
  });
  expect(gunzipSync(body).length).toBeGreaterThan(body.length);
  return body.length;
}
