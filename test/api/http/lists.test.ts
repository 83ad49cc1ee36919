import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeCursor, hashFilters } from "../../../src/api/http/list.ts";
import { createOrganisation } from "../../support/service.ts";
import type { TestClient } from "../../support/client.ts";
import { checkedClient } from "./conformance.ts";
import { echoFlow } from "../echo-flow.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

type Query = Record<string, string | number | undefined>;

describe("lists", () => {
  let api: InProcessApi;
  let mine: TestClient;
  let secretKey: string;
  let others: TestClient;
  const names = Array.from({ length: 23 }, (_, n) => `p${n}`);
  beforeAll(async () => {
    api = await startInProcess();
    ({ secretKey } = await createOrganisation(api));
    mine = checkedClient(api, secretKey);
    others = checkedClient(api, (await createOrganisation(api)).secretKey);
    for (const name of names) await mine.post("/v2/projects", { name });
  });
  afterAll(() => api.close());

  async function page(query: Query) {
    const { status, body } = await mine.get("/v2/projects", { query });
    expect(status).toBe(200);
    return {
      names: body.data.map((each: { name: string }) => each.name) as string[],
      cursor: body.cursor as string,
      more: body.has_more as boolean,
    };
  }

  /** Reads all pages from one end of a list to the other. */
  async function walk(query: Query): Promise<string[][]> {
    const pages: string[][] = [];
    let cursor: string | undefined;
    for (;;) {
      const { names: found, cursor: next, more } = await page({ ...query, cursor });
      pages.push(found);
      expect((next as string | null) === null).toBe(!more);
      if (!more) return pages;
      cursor = next;
    }
  }

  const hasCurl = spawnSync("curl", ["--version"]).status === 0;

  it.skipIf(!hasCurl)("can be read to the end by the loop in docs/http.md", async () => {
    const page = readFileSync(new URL("../../../docs/http.md", import.meta.url), "utf8");
    const [loop = ""] = /^cursor=""\n[^]*?^done$/m.exec(page) ?? [];
    const script = loop
      .replace("/v2/runs?page_size=200", "/v2/projects?page_size=10")
      .replace("run.run_id", "run.name");
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], {
      env: { PATH: process.env["PATH"], URL: api.url, SECRET_KEY: secretKey },
      timeout: 60_000,
    });
    expect(stdout.trim().split("\n")).toEqual(names.toReversed());
  });

  it("start with the newest item, 50 on a page", async () => {
    const { names: found, more } = await page({});
    expect([found, more]).toEqual([names.toReversed(), false]);
  });

  it.each([
    ["desc", names.toReversed()],
    ["asc", names],
  ])("return every item once, in order %s", async (order, expected) => {
    const pages = await walk({ order, page_size: 5 });
    expect(pages.map((each) => each.length)).toEqual([5, 5, 5, 5, 3]);
    expect(pages.flat()).toEqual(expected);
  });

  it("have no further page after a full last page", async () => {
    expect((await walk({ page_size: 23 })).length).toBe(1);
    expect(await page({ page_size: 23 })).toMatchObject({ cursor: null, more: false });
  });

  it.each(["asc", "desc"])("go back through the same pages, in order %s", async (order) => {
    const query = { order, page_size: 6 };
    const first = await page(query);
    const second = await page({ ...query, cursor: first.cursor });
    const third = await page({ ...query, cursor: second.cursor });
    expect(await page({ ...query, cursor: third.cursor, direction: "prev" })).toMatchObject({
      names: second.names,
      more: true,
    });
    const back = await page({ ...query, cursor: second.cursor, direction: "prev" });
    expect(back).toMatchObject({ names: first.names, more: false });
    expect(await page({ ...query, cursor: back.cursor, direction: "next" })).toMatchObject({ names: second.names });
  });

  it("start at the other end when going back without a cursor", async () => {
    expect((await page({ direction: "prev", page_size: 4, order: "asc" })).names).toEqual(names.slice(-4));
  });

  it("neither repeat nor lose items while others are added and deleted", async () => {
    const first = await page({ page_size: 10 });
    const { body: extra } = await mine.post("/v2/projects", { name: "late" });
    const second = await page({ page_size: 10, cursor: first.cursor });
    await mine.delete(`/v2/projects/${extra.project_id}`);
    const third = await page({ page_size: 10, cursor: second.cursor });
    expect([...first.names, ...second.names, ...third.names]).toEqual(names.toReversed());
  });

  it("accept another page size between pages", async () => {
    const first = await page({ page_size: 3 });
    expect((await page({ page_size: 200, cursor: first.cursor })).names).toEqual(names.toReversed().slice(3));
  });

  it("reject a cursor from another order, another list or another organisation", async () => {
    const { cursor } = await page({ page_size: 3 });
    const answers = await Promise.all([
      mine.get("/v2/projects", { query: { cursor, order: "asc" } }),
      mine.get("/v2/users", { query: { cursor } }),
      others.get("/v2/projects", { query: { cursor } }),
    ]);
    for (const answer of answers) expect(answer).toMatchObject({ status: 400, body: { code: "cursor_mismatch" } });
  });

  it("reject an invalid cursor", async () => {
    const { cursor } = await page({ page_size: 3 });
    const hash = hashFilters({});
    const made = [
      "x",
      "AAAA",
      `${cursor}A`,
      cursor.slice(0, -2),
      cursor.replace(/^../, "zz"),
      "%00",
      "../..",
      encodeCursor({ first: "1", last: "2' or 1=1" }, hash),
    ];
    for (const each of made) {
      expect(await mine.get("/v2/projects", { query: { cursor: each } })).toMatchObject({
        status: 400,
        body: { code: "invalid_cursor" },
      });
    }
    expect((await mine.get("/v2/projects?cursor=")).status).toBe(422);
  });

  it("of versions are sorted by number", async () => {
    const { body: project } = await mine.post("/v2/projects", { name: "Many" });
    for (let n = 1; n <= 12; n++)
      await mine.post(`/v2/projects/${project.project_id}/versions`, { flow: echoFlow(`v${n}`) });
    const path = `/v2/projects/${project.project_id}/versions`;
    const first = await mine.get(path, { query: { page_size: 5 } });
    expect(first.body.data.map((each: { version: number }) => each.version)).toEqual([12, 11, 10, 9, 8]);
    const second = await mine.get(path, { query: { page_size: 5, cursor: first.body.cursor } });
    expect(second.body.data.map((each: { version: number }) => each.version)).toEqual([7, 6, 5, 4, 3]);
    const back = await mine.get(path, { query: { page_size: 5, cursor: second.body.cursor, direction: "prev" } });
    expect(back.body.data).toEqual(first.body.data);
  });
});
