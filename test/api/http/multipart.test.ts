import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import Koa from "koa";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { problems } from "../../../src/api/http/middleware.ts";
import { openApiDocument } from "../../../src/api/http/openapi/document.ts";
import { operationsOf, type Operation, type RequestState } from "../../../src/api/http/operation.ts";
import { jsonField, readMultipart } from "../../../src/api/http/read-multipart.ts";
import { serveOperation, type ServeDeps } from "../../../src/api/http/serve-operation.ts";
import { loadConfig } from "../../../src/config.ts";
import { client, type Answer } from "../../support/client.ts";

const undone: string[] = [];
const common = {
  "files[]": z.array(z.file()),
  cover: z.file().optional(),
  on_duplicate: z.enum(["skip", "replace"]).default("skip"),
  count: z.int().optional(),
  tags: z.array(z.string()).optional(),
  user_metadata: jsonField(z.record(z.string(), z.union([z.string(), z.number()]))).optional(),
};
const operations = [
  takes("/either", z.object(common), z.strictObject({ url: z.url() }).optional()),
  takes("/strict", z.strictObject(common)),
];

/** An operation that returns the fields of its form. */
function takes(path: `/${string}`, multipart: z.ZodObject, body?: z.ZodType): Operation {
  return operationsOf({ tag: "Test", auth: "none" })({
    id: path.slice(1),
    route: `POST ${path}`,
    summary: "Takes files",
    description: "For this test.",
    multipart,
    ...(body && { body }),
    success: { 200: { description: "What it was." } },
    async handler({ ctx, body: json }) {
      if (json !== undefined) return { status: 200, body: { json } };
      const form = await readMultipart(
        ctx,
        multipart,
        { maxFileBytes: 1000, maxTotalBytes: 2500, maxFiles: 3 },
        {
          take: async ({ content, ...file }) => ({ ...file, text: await text(content) }),
          undo: async ({ filename }) => void undone.push(filename),
        },
      );
      return { status: 200, body: form };
    },
  });
}

let url = "";
let close: () => void;
beforeAll(async () => {
  const app = new Koa<RequestState>();
  app.use(problems(pino({ level: "silent" })));
  const serving = { config: loadConfig({ DATABASE_URL: "postgres://unused" }) } as ServeDeps;
  const byPath = new Map(operations.map((operation) => [operation.path as string, serveOperation(operation, serving)]));
  app.use(async (ctx) => byPath.get(ctx.path)?.(Object.assign(ctx, { params: {} }) as never));
  const server = createServer(app.callback());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  close = () => {
    server.closeAllConnections();
    server.close();
  };
});
afterAll(() => close());
beforeEach(() => {
  undone.length = 0;
});

function send(path: string, parts: ReadonlyArray<readonly [name: string, value: string | Blob, filename?: string]>) {
  const form = new FormData();
  for (const [name, value, filename] of parts)
    if (typeof value === "string") form.append(name, value);
    else form.append(name, value, filename);
  return client({ url }).post(path, form);
}
const file = (content: string, type = "text/plain") => new Blob([content], { type });
/** Sends a body written by hand. */
function byHand(path: string, boundary: string, ...parts: string[]): Promise<Answer> {
  const body = `${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join("")}--${boundary}--\r\n`;
  return client({ url }).post(path, body, { headers: { "content-type": `multipart/form-data; boundary=${boundary}` } });
}
const FILE = 'Content-Disposition: form-data; name="files[]"; filename="a.txt"';

describe("a multipart body", () => {
  it("may hold several files and fields in any order, with the types that the form declares", async () => {
    const { status, body } = await send("/either", [
      ["on_duplicate", "replace"],
      ["files[]", file("one", "text/plain; charset=windows-1252"), "skill/SKILL.md"],
      ["count", "12"],
      ["files[]", file("zwei"), "größe 😀.txt"],
      ["tags", "a"],
      ["tags", "ß"],
      ["user_metadata", '{"author": "Ada", "year": 1843}'],
      ["cover", file("x"), "c.txt"],
      ["not declared", "ignored"],
    ]);
    expect([status, body]).toEqual([
      200,
      {
        files: [
          {
            field: "files[]",
            filename: "skill/SKILL.md",
            declaredType: "text/plain; charset=windows-1252",
            text: "one",
          },
          { field: "files[]", filename: "größe 😀.txt", declaredType: "text/plain", text: "zwei" },
          { field: "cover", filename: "c.txt", declaredType: "text/plain", text: "x" },
        ],
        fields: {
          on_duplicate: "replace",
          count: 12,
          tags: ["a", "ß"],
          user_metadata: { author: "Ada", year: 1843 },
        },
      },
    ]);
    expect(undone).toEqual([]);
  });

  it("is rejected as a whole for one invalid field, and its stored files are deleted", async () => {
    const { status, body } = await send("/strict", [
      ["files[]", file("one"), "a.txt"],
      ["on_duplicate", "perhaps"],
      ["count", "many"],
      ["user_metadata", "{"],
      ["folder", "x"],
      ["note", file("y"), "note.txt"],
    ]);
    const places = body.detail.map(({ loc }: { loc: string[] }) => loc.join(".")).toSorted();
    const wanted = ["body.count", "body.folder", "body.note", "body.on_duplicate", "body.user_metadata"];
    expect([status, places, undone]).toEqual([422, wanted, ["a.txt"]]);
  });

  it.each([
    ["more files than are allowed", Array.from({ length: 4 }, (_, n) => ["files[]", file("x"), `${n}`] as const), 422],
    [
      "two files where one is asked for",
      [
        ["cover", file("x"), "a"],
        ["cover", file("x"), "b"],
      ] as const,
      422,
    ],
    ["no file", [["count", "1"]] as const, 422],
    ["a file that is too long", [["files[]", file("x".repeat(1001)), "a"]] as const, 413],
    [
      "files that are too long together",
      Array.from({ length: 3 }, () => ["files[]", file("x".repeat(900)), "a"] as const),
      413,
    ],
    ["fields that are too long", [["tags", "x".repeat(2 * 1024 * 1024)]] as const, 413],
  ])("is rejected for %s", async (_, parts, status) => {
    expect((await send("/either", parts)).status).toBe(status);
  });

  it("prototype: with a part named __proto__ sets no field and no prototype", async () => {
    const evil = 'Content-Disposition: form-data; name="__proto__"\r\n\r\npolluted';
    const answer = await byHand("/either", "XX", evil, `${FILE}\r\n\r\nx`, evil);
    expect([answer.status, answer.body.fields]).toEqual([200, { on_duplicate: "skip" }]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    const refused = await byHand("/strict", "XX", evil, `${FILE}\r\n\r\nx`);
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "__proto__"]]);
  });

  it.each(["json", "application/json", "urlencoded", "octet-stream"])(
    "content-confusion: is read as multipart with a boundary called %s",
    async (word) => {
      const boundary = word.replace("/", "-");
      expect((await byHand("/either", boundary, `${FILE}\r\n\r\nx`)).body.files).toHaveLength(1);
      const posing = await client({ url }).post("/either", '{"files[]": [{"filepath": "/etc/passwd"}]}', {
        headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
      });
      expect(posing.status).toBe(422);
    },
  );

  it.each([
    ["7bit", "x", 200, "x"],
    ["base64", "eA==", 200, "x"],
    ["quoted-printable", "x", 422, undefined],
  ])("can have a part in transfer encoding %s", async (encoding, content, status, read) => {
    const head = `\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`;
    const tag = 'Content-Disposition: form-data; name="tags"';
    const answer = await byHand("/either", "XX", `${FILE}${head}${content}`, `${tag}${head}${content}`);
    expect([answer.status, answer.body.files?.[0].text, answer.body.fields?.tags]).toEqual([
      status,
      read,
      read && [read],
    ]);
    expect((await send("/either", [["files[]", file("x"), "a"]])).status).toBe(200);
  });

  it("huge-header: is rejected soon for an endless header, or one that is costly to parse", async () => {
    const started = performance.now();
    const costly = `Content-Disposition: form-data; name="x"; ${'filename="'.repeat(40_000)}x`;
    expect((await byHand("/either", "XX", `${costly}\r\n\r\nx`)).status).toBe(422);
    const long = await byHand("/either", "XX", `Content-Disposition: form-data; ${"x".repeat(2_000_000)}`);
    expect([long.status, long.body.detail[0].msg]).toEqual([422, expect.stringContaining("headers of the parts")]);
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  it.each(["count", "files[]"])("is rejected if it ends in the middle of %s", async (name) => {
    const body = `--XX\r\nContent-Disposition: form-data; name="${name}"; filename="a.txt"\r\n\r\nhalf`;
    const headers = { "content-type": "multipart/form-data; boundary=XX" };
    expect((await client({ url }).post("/either", body, { headers })).status).toBe(422);
  });
});

describe("an operation that takes multipart or JSON", () => {
  it("accepts either, and rejects anything else", async () => {
    expect((await client({ url }).post("/either", { url: "https://example.com" })).body).toEqual({
      json: { url: "https://example.com" },
    });
    expect((await send("/either", [["files[]", file("x"), "a"]])).body.files).toHaveLength(1);
    const wrong = await client({ url }).post("/either", { address: "x" });
    expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ["body", "url"]]);
    for (const headers of [{ "content-type": "text/plain" }, { "content-type": "multipart/form-data" }])
      expect((await client({ url }).post("/either", "x", { headers })).status).toBe(415);
    expect((await client({ url }).post("/either")).status).toBe(415);
    expect((await client({ url }).post("/strict", {})).status).toBe(415);
  });

  it("documents both", () => {
    const document = openApiDocument(operations) as unknown as {
      paths: Record<string, { post: { requestBody: { required: boolean; content: object } } }>;
    };
    const { required, content } = document.paths["/either"]?.post.requestBody ?? { content: {} };
    expect([required, Object.keys(content)]).toEqual([true, ["application/json", "multipart/form-data"]]);
  });
});
