import { beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../../support/client.ts";
import { startHttpTarget } from "../../support/http-target.ts";
import type { HttpTarget } from "../../support/http-target.ts";
import { eventually } from "../../support/scratch.ts";
import { startWebsite } from "../../support/website.ts";
import { openTenant } from "../tenant.ts";
import type { ApiTenant } from "../tenant.ts";
import { create } from "./bases.ts";
import { settled } from "./knowledge-bases.ts";
import { begin, counts, ended, resources, run } from "./syncs.ts";

let tenant: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
});

type Body = Answer["body"];

const baseOf = (path: string): string => path.split("/").at(-1) ?? "";

/** Answers a path with this text, once it is let go. */
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
  it("reads the sources that there were when it began", async () => {
    const [target, site] = [await startHttpTarget(), await startWebsite({ "/a": "Punts.", "/b": "Barges." })];
    const page = `${target.url}/text?body=Weirs`;
    held(target, "/sitemap.xml", `<urlset><url><loc>${page}</loc></url></urlset>`)();
    const manual = (at: string) => ({ source_type: "manual", selected_resources: [site.address(at)] });
    const first = { source_type: "sitemap", original_search_term: `${target.url}/sitemap.xml` };
    const { path } = await create(tenant, { website_sources: [first, manual("/a"), manual("/b")] });
    expect((await run(tenant, path)).counts).toEqual(counts({ added: 3 }));

    const release = held(target, "/sitemap.xml", `<urlset><url><loc>${page}</loc></url></urlset>`);
    const asked = target.hits("/sitemap.xml");
    const syncId = await begin(tenant, path);
    await eventually("its sitemap is asked for", () => target.hits("/sitemap.xml") > asked);
    const changed = await tenant.secret.patch(path, { website_sources: [manual("/a"), manual("/b")] });
    expect(changed.status).toBe(200);
    release();
    expect((await ended(tenant, path, syncId)).counts).toEqual(counts({ unchanged: 3 }));
    expect((await run(tenant, path)).counts).toEqual(counts({ deleted: 1, unchanged: 2 }));
    await Promise.all([target.close(), site.close()]);
  });

  it("reads each of the documents that have one address, listed or not", async () => {
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

  it("does not bring back a document that is deleted while its address answers", async () => {
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
