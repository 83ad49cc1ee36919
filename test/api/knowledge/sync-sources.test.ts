import { beforeAll, describe, expect, it } from "vitest";
import { startHttpTarget } from "../../support/http-target.ts";
import type { HttpTarget } from "../../support/http-target.ts";
import { eventually } from "../../support/scratch.ts";
import { startWebsite } from "../../support/website.ts";
import { openTenant } from "../tenant.ts";
import type { ApiTenant } from "../tenant.ts";
import { create } from "./bases.ts";
import { begin, counts, ended, run } from "./syncs.ts";

let tenant: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
});

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
});
