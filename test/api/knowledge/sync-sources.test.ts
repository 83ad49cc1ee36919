import { beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../../support/client.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { eventually } from "../../support/scratch.ts";
import { startWebsite } from "../../support/website.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { create } from "./bases.ts";
import { settled } from "./knowledge-bases.ts";
import { begin, counts, ended, resources, run } from "./syncs.ts";

let tenant: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
});

type Body = Answer["body"];

const baseOf = (path: string): string => path.split("/").at(-1) ?? "";

/** Serves this text at a path once the returned function is called. */
function held(target: HttpTarget, path: string, text: string): () => void {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  target.on(path, async (_request, response) => {
    await released;
    response.end(text);
  });
  return release;
}

describe("a sync", () => {
  it("reads each document that shares a URL, whether listed in a source or not", async () => {
    const site = await startWebsite({ "/a": "Punts are flat." });
    const { path } = await create(tenant);
    for (const external_id of ["one", "two"]) {
      const added = await tenant.secret.post(`${path}/resources`, { url: site.address("/a"), external_id });
      expect(await settled(tenant, baseOf(path), added.body.resource_id)).toMatchObject({ status: "indexed" });
    }
    const texts = async (): Promise<string[]> => {
      const all = await resources(tenant, path);
      const read = all.map(({ resource_id }) => settled(tenant, baseOf(path), resource_id));
      return (await Promise.all(read)).map(({ text }: Body) => text);
    };
    site.pages.set("/a", "Punts are long.");
    expect((await run(tenant, path)).counts).toEqual(counts({ updated: 2 }));
    expect(await texts()).toEqual(["Punts are long.", "Punts are long."]);
    const source = { source_type: "manual", selected_resources: [site.address("/a")] };
    await tenant.secret.patch(path, { website_sources: [source] });
    site.pages.set("/a", "Punts are low.");
    expect((await run(tenant, path)).counts).toEqual(counts({ updated: 2 }));
    expect(await texts()).toEqual(["Punts are low.", "Punts are low."]);
    expect((await run(tenant, path)).counts).toEqual(counts({ unchanged: 2 }));
    await site.close();
  });

  it("counts the pages whose URL is too long, and does not treat other pages as missing", async () => {
    const site = await startWebsite({ "/a": "Punts are flat.", "/b": "Skiffs are light." });
    const long = (name: string): string => `/${name}?${"x".repeat(2048)}`;
    site.others.push(long("a-1"), long("a-2"), long("c"));
    const selected = { selected_resources: [site.address("/a"), site.address("/b")] };
    const source = { source_type: "sitemap", original_search_term: site.url, ...selected };
    const { path } = await create(tenant, { website_sources: [source] });
    const first = await run(tenant, path);
    expect(first).toMatchObject({ state: "completed", counts: counts({ added: 2, failed: 1 }) });
    expect(first.errors).toEqual([
      {
        address: site.address("/sitemaps/pages.xml.gz"),
        resource_id: null,
        code: "addresses_too_long",
        message: expect.stringMatching(/^URLs longer than 2048 characters are not read: 2, .*\/a-1\?x{20,200}…$/),
      },
    ]);
    site.pages.delete("/b");
    expect((await run(tenant, path)).counts).toEqual(counts({ unchanged: 1, deleted: 1, failed: 1 }));
    await site.close();
  });

  it("reads up to the limit of documents over all sources, and does not treat the rest as missing", async () => {
    const pages = (name: string, count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`/${name}-${n}`, `Page ${n} of ${name}.`]));
    const sites = [await startWebsite(pages("one", 100)), await startWebsite(pages("two", 60))];
    const website_sources = sites.map(({ url }) => ({ source_type: "sitemap", original_search_term: url }));
    const { path } = await create(tenant, { website_sources });
    const last = sites[1]?.address("/two-59") ?? "";
    const kept = await create(tenant, { website_sources: [{ source_type: "manual", selected_resources: [last] }] });
    expect((await run(tenant, kept.path)).counts).toEqual(counts({ added: 1 }));
    const error = { address: "source 2", resource_id: null, code: "too_many_pages" };
    const message = "Only the first 150 documents of the sources are read.";
    expect(await run(tenant, path, { mode: "dry_run" })).toMatchObject({
      state: "completed",
      counts: counts({ added: 150, failed: 1 }),
      errors: [{ ...error, message }],
    });
    expect([sites[1]?.served("/two-49"), sites[1]?.served("/two-50")]).toMatchObject([{ whole: 1 }, { whole: 0 }]);
    await tenant.secret.patch(kept.path, { website_sources });
    expect((await run(tenant, kept.path, { mode: "dry_run" })).counts).toMatchObject({ added: 150, deleted: 0 });
    for (const site of sites) await site.close();
  });

  it("reads a sitemap once even if robots.txt names it twice", async () => {
    const site = await startWebsite({ "/a": "Punts are flat." });
    const names = `Sitemap: ${site.url}/sitemaps/index.xml\nSitemap: ${site.url}/gone.xml\n`;
    site.override = ({ path: at }) => (at === "/robots.txt" ? { status: 200, body: names + names } : null);
    const { path } = await create(tenant, {
      website_sources: [{ source_type: "sitemap", original_search_term: site.url }],
    });
    expect(await run(tenant, path)).toMatchObject({
      counts: counts({ added: 1, failed: 1 }),
      errors: [{ address: site.address("/gone.xml"), code: "http_status" }],
    });
    expect(site.target.hits("/sitemaps/index.xml")).toBe(1);
    await site.close();
  });

  it("keeps a document that a person also added when it is no longer listed", async () => {
    const site = await startWebsite({ "/a": "Punts are flat.", "/b": "Barges are long." });
    const selected_resources = [site.address("/a"), site.address("/b")];
    const { path } = await create(tenant, { website_sources: [{ source_type: "manual", selected_resources }] });
    expect((await run(tenant, path)).counts).toEqual(counts({ added: 2 }));
    const again = await tenant.secret.post(`${path}/resources`, { url: site.address("/a") });
    expect(again.body.message).toBe("The resource is there already.");
    await tenant.secret.patch(path, { website_sources: [] });
    expect((await run(tenant, path)).counts).toEqual(counts({ deleted: 1, unchanged: 1 }));
    await site.close();
  });

  it("does not restore a document that is deleted while its page is being read", async () => {
    const target = await startHttpTarget();
    held(target, "/page", "Weirs hold water.")();
    const { path } = await create(tenant);
    const added = await tenant.secret.post(`${path}/resources`, { url: `${target.url}/page` });
    await settled(tenant, baseOf(path), added.body.resource_id);
    const release = held(target, "/page", "Weirs hold more water.");
    const syncId = await begin(tenant, path);
    await eventually("the page is asked for again", () => target.hits("/page") === 2);
    expect((await tenant.secret.delete(`${path}/resources/${added.body.resource_id}`)).status).toBe(204);
    release();
    expect((await ended(tenant, path, syncId)).counts).toEqual(counts({ deleted: 1 }));
    expect(await resources(tenant, path)).toEqual([]);
    await target.close();
  });
});

describe("the server of a bucket", () => {
  const listed = (keys: readonly string[], more = ""): string =>
    `<?xml version="1.0"?><ListBucketResult><EncodingType>url</EncodingType>${more}${keys
      .map((key) => `<Contents><Key>${key}</Key><Size>5</Size><ETag>"1"</ETag></Contents>`)
      .join("")}</ListBucketResult>`;
  const TRUNCATED = "<IsTruncated>true</IsTruncated>";

  /** Creates a knowledge base whose bucket listing comes from `list`, and whose objects all have the same content. */
  async function based(list: { answer: (url: URL) => string | number }) {
    const target = await startHttpTarget();
    target.onEvery(({ url }, response) => {
      const address = new URL(url, target.url);
      if (!address.searchParams.has("list-type")) return void response.end("Weirs hold water.");
      const answer = list.answer(address);
      if (typeof answer === "number") response.writeHead(answer).end("<Error><Code>SlowDown</Code></Error>");
      else response.writeHead(200, { "content-type": "application/xml" }).end(answer);
    });
    const credential = { access_key_id: "key", secret_access_key: "secret", endpoint: target.url };
    const connection = { name: "files", provider_id: "s3", credential };
    const { connection_id } = (await tenant.secret.post("/v2/connections", connection)).body;
    const { path } = await create(tenant, { connection_id, connection_source_ids: ["files"] });
    return { target, path };
  }

  it.each([
    ["is a page of another program", "<html><body>Sign in</body></html>"],
    ["is cut off without saying where it goes on", listed(["b.txt"], TRUNCATED)],
    ["leads back to itself", listed(["b.txt"], `${TRUNCATED}<NextContinuationToken>x</NextContinuationToken>`)],
    ["says that it is asked too often", 503],
  ])("causes no deletions if its list %s", async (_, answer) => {
    const list: { answer: (url: URL) => string | number } = { answer: () => listed(["a.txt", "b.txt"]) };
    const { target, path } = await based(list);
    expect((await run(tenant, path)).counts).toEqual(counts({ added: 2 }));
    list.answer = () => answer;
    const done = await run(tenant, path);
    expect(done.counts).toMatchObject({ deleted: 0, failed: 1 });
    expect(JSON.stringify([done.error, done.errors])).not.toContain("internal_error");
    expect(await resources(tenant, path)).toHaveLength(2);
    list.answer = () => listed(["a.txt"]);
    expect((await run(tenant, path)).counts).toEqual(counts({ deleted: 1, unchanged: 1 }));
    await target.close();
  });

  it("is read at the locations that the knowledge base had when the sync began", async () => {
    const target = await startHttpTarget();
    const gate: { closed?: Promise<void>; open?: () => void } = {};
    target.onEvery(async ({ url, path }, response) => {
      if (!url.includes("list-type")) return void response.end(`This is ${path}.`);
      if (path === "/two/") await gate.closed;
      response.end(listed(["doc.txt"]));
    });
    const credential = { access_key_id: "key", secret_access_key: "secret", endpoint: target.url };
    const connection = { name: "files", provider_id: "s3", credential };
    const { connection_id } = (await tenant.secret.post("/v2/connections", connection)).body;
    const { path } = await create(tenant, { connection_id, connection_source_ids: ["one", "two"] });
    expect((await run(tenant, path)).counts).toEqual(counts({ added: 2 }));

    gate.closed = new Promise<void>((resolve) => (gate.open = resolve));
    const asked = target.hits("/two/");
    const syncId = await begin(tenant, path);
    await eventually("the last place is asked for", () => target.hits("/two/") > asked);
    expect((await tenant.secret.patch(path, { connection_source_ids: ["two"] })).status).toBe(200);
    gate.open?.();
    expect((await ended(tenant, path, syncId)).counts).toEqual(counts({ unchanged: 2 }));
    expect((await run(tenant, path)).counts).toEqual(counts({ deleted: 1, unchanged: 1 }));
    await target.close();
  });

  it("is read page by page after a short outage", async () => {
    let refused = 0;
    const { target, path } = await based({
      answer: ({ searchParams }) => {
        if (searchParams.get("continuation-token") === "2") return listed(["b+c%2B%3F%23.txt"]);
        refused += 1;
        return refused < 3 ? 503 : listed(["a.txt"], `${TRUNCATED}<NextContinuationToken>2</NextContinuationToken>`);
      },
    });
    expect(await run(tenant, path)).toMatchObject({ state: "completed", counts: counts({ added: 2 }) });
    const addresses = (await resources(tenant, path)).map(({ source_url }) => source_url);
    expect(addresses.toSorted()).toEqual(["s3://files/a.txt", "s3://files/b c+?#.txt"]);
    await target.close();
  });

  it("fails the sync with an error if it is unreachable", async () => {
    const { target, path } = await based({ answer: () => listed(["a.txt"]) });
    expect((await run(tenant, path)).counts).toEqual(counts({ added: 1 }));
    await target.close();
    expect(await run(tenant, path)).toMatchObject({
      state: "failed",
      error: { code: "source_unavailable", message: expect.stringContaining(`The connection to ${target.url} failed`) },
      counts: counts({ failed: 1 }),
    });
  });

  it("may list object names that the database cannot store", async () => {
    const { target, path } = await based({ answer: () => listed(["a.txt", "b%00.txt"]) });
    expect(await run(tenant, path)).toMatchObject({
      state: "completed",
      counts: counts({ added: 1, failed: 1 }),
      errors: [{ address: "s3://files/b\ufffd.txt", code: "object_name_unusable" }],
    });
    await target.close();
  });
});
