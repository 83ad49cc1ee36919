import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import type { Answer, TestClient } from "../../support/client.ts";
import { startService, type OwnService } from "../../support/service.ts";
import { echo, openTenant, problemText, type ApiTenant } from "../tenant.ts";

const LIMIT = 256 * 1024;
const UNKNOWN = "0197f0a0-0000-7000-8000-000000000000";
let own: OwnService;
let tenant: ApiTenant;
let flowId: string;

beforeAll(async () => {
  // A separate installation with a small upload limit and its own blobs.
  own = await startService({ env: { MILLRACE_UPLOAD_LIMIT_BYTES: String(LIMIT) } });
  tenant = await openTenant(own);
  flowId = await tenant.deploy(reading());
});
afterAll(() => own.close());

/** A flow that outputs the text of its documents. */
function reading(more: Record<string, unknown> = {}) {
  return flow(
    [
      { id: "doc-0", type: "files", config: more },
      { id: "out-0", type: "output" },
    ],
    ["doc-0>out-0"],
  );
}
const twoNodes = () =>
  flow(
    [
      { id: "doc-0", type: "files" },
      { id: "doc-1", type: "files" },
      { id: "out-0", type: "output" },
    ],
    ["doc-0>out-0", "doc-1>out-0"],
  );

interface Upload {
  readonly query?: Record<string, string | undefined>;
  readonly name?: string;
  readonly type?: string;
  readonly headers?: Record<string, string>;
  readonly by?: TestClient;
  readonly path?: string;
}

function upload(
  content: string | Uint8Array,
  { query, name = "a.txt", type = "text/plain", headers = {}, by = tenant.public, path }: Upload = {},
): Promise<Answer> {
  const form = new FormData();
  form.append("file", new Blob([content], { type }), name);
  return send(form, query, by, path, headers);
}
function send(
  body: unknown,
  query: Record<string, string | undefined> = {},
  by: TestClient = tenant.public,
  path = "/upload_to_storage_user",
  headers: Record<string, string> = {},
): Promise<Answer> {
  const all = { org: tenant.org_id, user_id: "ada-1", flow_id: flowId, node_id: "doc-0", ...query };
  return by.post(path, body, { query: all, headers });
}
/** Builds a multipart body by hand: the headers of each part, then its content. */
function parts(...list: ReadonlyArray<readonly [headers: string, content: string | Buffer]>): {
  body: Uint8Array;
  headers: Record<string, string>;
} {
  const chunks = list.flatMap(([head, content]) => [`--XX\r\n${head}\r\n\r\n`, content, "\r\n"]);
  const body = Buffer.concat([...chunks, "--XX--\r\n"].map((chunk) => Buffer.from(chunk)));
  return { body, headers: { "content-type": "multipart/form-data; boundary=XX" } };
}
/** Number of files in the blob store, including drafts. */
function blobs(): number {
  const names = readdirSync(own.blobDir, { recursive: true }) as string[];
  return names.filter((name) => statSync(join(own.blobDir, name)).isFile()).length;
}
const read = async (user_id: string): Promise<Answer["body"]> => {
  const { body } = await tenant.public.post(
    `/inference/v0/run/${tenant.org_id}/${flowId}`,
    { user_id },
    { query: { verbose: false } },
  );
  return body["out-0"];
};

describe("uploading a document", () => {
  it("returns its properties, and a run with the same user ID reads it", async () => {
    const content = "The answer is 42.";
    const { status, body } = await upload(content, { query: { user_id: "grace-7" } });
    expect([status, body]).toEqual([
      200,
      {
        file_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        filename: "a.txt",
        size: content.length,
        content_hash: createHash("sha256").update(content).digest("hex"),
        mime_type: "text/plain",
        org: tenant.org_id,
        user_id: "grace-7",
        flow_id: flowId,
        node_id: "doc-0",
        status: "pending",
      },
    ]);
    expect(await read("grace-7")).toMatchObject({
      documents: [{ file_id: body.file_id, filename: "a.txt", text: content }],
      text: content,
    });
    for (const other of ["grace-70", "grace", "GRACE-7", "grace_7", "%"])
      expect((await read(other)).documents).toEqual([]);
  });

  it("works the same at its older path, and for secret keys and editors", async () => {
    expect((await upload("x", { path: "/upload_to_supabase_user" })).status).toBe(200);
    expect((await upload("x", { by: tenant.secret })).status).toBe(200);
    expect((await upload("x", { by: await tenant.user("editor") })).status).toBe(200);
    expect((await upload("x", { by: await tenant.user("viewer") })).status).toBe(403);
  });

  it("uses the only document node, and requires node_id if there are several", async () => {
    expect((await upload("x", { query: { node_id: undefined } })).body.node_id).toBe("doc-0");
    const several = await tenant.deploy(twoNodes());
    const unnamed = await upload("x", { query: { flow_id: several, node_id: undefined } });
    expect([unnamed.status, unnamed.body.detail[0].loc]).toEqual([422, ["query", "node_id"]]);
    expect((await upload("x", { query: { flow_id: several, node_id: "doc-1" } })).body.node_id).toBe("doc-1");
  });

  it("takes the type from the content, not from the file name", async () => {
    expect((await upload("%PDF-1.4 not really", { name: "a.bin", type: "text/plain" })).body.mime_type).toBe(
      "application/pdf",
    );
    expect((await upload('{"a": 1}', { name: "a.json", type: "application/octet-stream" })).body.mime_type).toBe(
      "application/json",
    );
    const png = Buffer.from("89504e470d0a1a0a0000", "hex");
    const refused = await upload(png, { name: "a.txt", type: "text/plain" });
    expect([refused.status, refused.body.code]).toEqual([415, "unsupported_media_type"]);
  });

  it("reads a file in the declared or detected charset", async () => {
    const query = { user_id: "charsets-1" };
    await upload(Buffer.from("a420a6", "hex"), { query, name: "a.txt", type: "text/plain; charset=ISO-8859-15" });
    await upload(Buffer.from("8365", "hex"), { query, name: "b.txt", type: 'text/plain; charset="Shift_JIS"' });
    await upload(Buffer.from("80209394", "hex"), { query, name: "c.txt", type: "text/plain" });
    const { documents } = await read("charsets-1");
    expect(documents.map(({ text }: { text: string }) => text)).toEqual(["€ Š", "テ", "€ “”"]);
  });

  it("accepts only the types that the node accepts", async () => {
    const csv = await tenant.deploy(reading({ accept: ["text/csv", "application/*"] }));
    expect((await upload("a,b\n1,2", { name: "a.csv", query: { flow_id: csv } })).status).toBe(200);
    expect((await upload("{}", { name: "a.json", query: { flow_id: csv } })).status).toBe(200);
    expect((await upload("# x", { name: "a.md", query: { flow_id: csv } })).status).toBe(415);
  });

  it("replaces the file of the same name and user ID", async () => {
    const user_id = "replace-1";
    const first = await upload("first", { query: { user_id } });
    await read(user_id);
    const before = blobs();
    const second = await upload("second", { query: { user_id } });
    expect(second.body.file_id).not.toBe(first.body.file_id);
    await upload("kept", { query: { user_id }, name: "b.txt" });
    const { documents } = await read(user_id);
    expect(documents.map(({ text }: { text: string }) => text).toSorted()).toEqual(["kept", "second"]);
    expect(blobs()).toBe(before + 1);
  });

  it("does not hide other documents when one cannot be read", async () => {
    const user_id = "broken-1";
    await upload("%PDF-1.7 broken", { query: { user_id }, name: "a.pdf" });
    await upload("fine", { query: { user_id }, name: "b.txt" });
    const { documents, text } = await read(user_id);
    expect(text).toBe("fine");
    expect(documents.find(({ filename }: { filename: string }) => filename === "a.pdf").error.code).toEqual(
      expect.any(String),
    );
  });

  it("stores the file of one Idempotency-Key once", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const query = { user_id: "once-1" };
    const before = blobs();
    const answers = await Promise.all(Array.from({ length: 6 }, () => upload("same", { query, headers })));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(new Set(answers.map(({ body }) => body.file_id)).size).toBe(1);
    expect(answers.filter((answer) => answer.headers.get("idempotent-replayed"))).toHaveLength(5);
    const other = await upload("other", { query, headers });
    expect([other.status, other.body.code]).toEqual([409, "idempotency_conflict"]);
    expect(blobs()).toBe(before + 1);
  });
});

describe("the checks of an upload", () => {
  it.each([
    ["no handle", { user_id: undefined }, ["query", "user_id"]],
    ["an empty handle", { user_id: "" }, ["query", "user_id"]],
    ["a handle with a line break", { user_id: "a\nb" }, ["query", "user_id"]],
    ["no organisation", { org: undefined }, ["query", "org"]],
    ["no flow", { flow_id: undefined }, ["query", "flow_id"]],
    ["an unknown node", { node_id: "doc-9" }, ["query", "node_id"]],
    ["a node of another kind", { node_id: "out-0" }, ["query", "node_id"]],
    ["a parameter we do not know", { folder: "x" }, ["query", "folder"]],
  ])("return 422 for %s", async (_, query, loc) => {
    const before = blobs();
    const { status, body } = await upload("x", { query });
    expect([status, body.detail[0].loc]).toEqual([422, loc]);
    expect(blobs()).toBe(before);
  });

  it("return 422 for a flow without a document node", async () => {
    const { status, body } = await upload("x", { query: { flow_id: await tenant.deploy(echo()), node_id: undefined } });
    expect([status, body.detail[0].loc]).toEqual([422, ["query", "flow_id"]]);
  });

  it("cross-tenant: return the same 404 for an unknown flow, another organisation's flow and another organisation's URL", async () => {
    const other = await openTenant(own);
    const theirs = await other.deploy(reading());
    const answers = await Promise.all(
      [
        { flow_id: UNKNOWN },
        { flow_id: theirs },
        { flow_id: theirs, org: other.org_id },
        { org: other.org_id },
        { org: "../x" },
        { flow_id: "../x" },
      ].map((query) => upload("x", { query })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(404));
    expect(new Set(answers.map(problemText)).size).toBe(1);
  });

  it("return 401 without a credential", async () => {
    const { status } = await fetch(`${own.url}/upload_to_storage_user`, { method: "POST" });
    expect(status).toBe(401);
  });

  it("content-confusion: return 415 for anything but multipart, regardless of the body", async () => {
    const posing = { file: { filename: "/etc/passwd", path: "/etc/passwd" }, files: [{ filepath: "/etc/passwd" }] };
    expect((await send(posing)).status).toBe(415);
    expect((await send("--XX\r\n", {}, tenant.public, undefined, { "content-type": "text/plain" })).status).toBe(415);
    expect((await send("x", {}, tenant.public, undefined, { "content-type": "multipart/form-data" })).status).toBe(415);
    expect((await send(new URLSearchParams({ file: "x" }))).status).toBe(415);
    expect((await send(undefined)).status).toBe(415);
  });

  it.each([
    ["no part named file", [['Content-Disposition: form-data; name="document"; filename="a.txt"', "x"]]],
    ["a file without a name", [['Content-Disposition: form-data; name="file"', "x"]]],
    ["an empty file", [['Content-Disposition: form-data; name="file"; filename="a.txt"', ""]]],
    [
      "two files",
      [
        ['Content-Disposition: form-data; name="file"; filename="a.txt"', "x"],
        ['Content-Disposition: form-data; name="file"; filename="b.txt"', "y"],
      ],
    ],
    [
      "a name of 256 characters",
      [[`Content-Disposition: form-data; name="file"; filename="${"n".repeat(252)}.txt"`, "x"]],
    ],
    ["a name with U+0000", [['Content-Disposition: form-data; name="file"; filename="a\u0000.txt"', "x"]]],
    ["no parts", []],
  ] as const)("return 422 for %s, and store nothing", async (_, list) => {
    const before = blobs();
    const { body: content, headers } = parts(...list);
    const { status, body } = await send(content, {}, tenant.public, undefined, headers);
    expect([status, body.detail[0].loc[0]]).toEqual([422, "body"]);
    expect(blobs()).toBe(before);
  });

  it("report an invalid file name, not a missing file", async () => {
    const { body: content, headers } = parts([
      "Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%00%0aevil.txt",
      "x",
    ]);
    const { status, body } = await send(content, {}, tenant.public, undefined, headers);
    expect([status, body.detail[0].msg]).toEqual([422, "A file name cannot contain control characters"]);
  });

  it("return 422 for an incomplete body, and store nothing", async () => {
    const before = blobs();
    const content = '--XX\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf a fi';
    const { status } = await send(content, {}, tenant.public, undefined, {
      "content-type": "multipart/form-data; boundary=XX",
    });
    expect(status).toBe(422);
    await expect.poll(blobs).toBe(before);
  });

  it("ignore other fields, whatever their names", async () => {
    const { body: content, headers } = parts(
      ['Content-Disposition: form-data; name="__proto__"', "x"],
      ['Content-Disposition: form-data; name="constructor"', "x"],
      ['Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain', "content"],
      ['Content-Disposition: form-data; name="note"', "y".repeat(100_000)],
    );
    const { status, body } = await send(content, {}, tenant.public, undefined, headers);
    expect([status, body.size]).toEqual([200, 7]);
    const many = parts(
      ...Array.from({ length: 60 }, (_, i) => [`Content-Disposition: form-data; name="f${i}"`, "x"] as const),
    );
    expect((await send(many.body, {}, tenant.public, undefined, many.headers)).status).toBe(422);
  });

  it.each([
    "../../../etc/passwd",
    "..%2f..%2fx",
    "C:\\windows\\x.txt",
    "/etc/passwd",
    "__proto__.txt",
    "a'b\u{1F600}.txt",
  ])("path-traversal: never use the name %s as a path", async (filename) => {
    const { body: content, headers } = parts([
      `Content-Disposition: form-data; name="file"; filename="${filename.replaceAll("\\", "\\\\")}"`,
      "some text",
    ]);
    const { status, body } = await send(content, { user_id: "names-1" }, tenant.public, undefined, headers);
    expect([status, body.filename]).toEqual([200, filename]);
    const { documents } = await read("names-1");
    expect(documents.every(({ text }: { text: string }) => text === "some text")).toBe(true);
  });

  it("return 413 over the limit and store nothing, also without a declared length", async () => {
    const before = blobs();
    expect((await upload("x".repeat(LIMIT))).status).toBe(200);
    const stored = before + 1;
    for (const size of [LIMIT + 1, LIMIT + 8 * 1024 * 1024]) {
      const { status, body } = await upload("x".repeat(size));
      expect([status, body.code, body.limit_bytes]).toEqual([413, "payload_too_large", LIMIT]);
    }
    await expect.poll(blobs).toBe(stored);
    const answer = await endless(
      own.url,
      `/upload_to_storage_user?org=${tenant.org_id}&user_id=u&flow_id=${flowId}`,
      tenant.publicKey,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    await expect.poll(blobs).toBe(stored);
  });

  it("store nothing when the client disconnects, and the service keeps running", async () => {
    const before = blobs();
    const { port, hostname } = new URL(own.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /upload_to_storage_user?org=${tenant.org_id}&user_id=u&flow_id=${flowId} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.publicKey}\r\n` +
        'Content-Type: multipart/form-data; boundary=XX\r\nContent-Length: 100000\r\n\r\n--XX\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' +
        "x".repeat(20_000),
    );
    await expect.poll(blobs).toBeGreaterThan(before);
    socket.destroy();
    await expect.poll(blobs).toBe(before);
    expect((await upload("still there")).status).toBe(200);
  });
});

/** Uploads chunks until the server responds; resolves with the first line of the response. */
function endless(url: string, path: string, key: string): Promise<string> {
  const { port, hostname } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answered = false;
    socket.on("error", reject);
    socket.on("data", (data) => {
      answered = true;
      resolve(data.toString("latin1"));
      socket.destroy();
    });
    const chunk = `${(65_536).toString(16)}\r\n${"x".repeat(65_536)}\r\n`;
    const head = '--XX\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: multipart/form-data; boundary=XX\r\nTransfer-Encoding: chunked\r\n\r\n${head.length.toString(16)}\r\n${head}\r\n`,
    );
    void (async () => {
      for (let i = 0; i < 200 && !answered; i++) {
        socket.write(chunk);
        await delay(5);
      }
      if (!answered) reject(new Error("no answer"));
    })();
  });
}
