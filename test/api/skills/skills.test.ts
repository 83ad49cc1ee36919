import { beforeAll, describe, expect, it } from "vitest";
import type { FlowReference } from "../../../src/domain/flow/references.ts";
import { referenceProblems } from "../../../src/services/projects/flow-references.ts";
import { insertFlowReferences } from "../../../src/stores/projects/flow-references.ts";
import { zipEntries } from "../../../src/platform/zip.ts";
import { buildZip, type ZippedFile } from "../../fixtures/documents/zip.ts";
import type { Answer, TestClient } from "../../support/client.ts";
import { checkedClient } from "../http/conformance.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";

const PATH = "/v2/skills";
const UNKNOWN = `${PATH}/0197f0a0-0000-7000-8000-000000000000`;
const ZIP = { headers: { "content-type": "application/zip" } };

let mine: ApiTenant;
let others: ApiTenant;
let viewer: TestClient;
beforeAll(async () => {
  [mine, others] = await Promise.all([openTenant(), openTenant()]);
  viewer = await mine.user("viewer");
});

let count = 0;
const newName = (): string => `skill-${(count += 1)}`;

function skillMd(name: string, rest = "", body = "# Do it\n\nSee `references/more.md`.\n"): string {
  return `---\nname: ${name}\ndescription: What ${name} is for.\n${rest}---\n${body}`;
}

function form(files: Readonly<Record<string, string>>, field = "files[]"): FormData {
  const data = new FormData();
  for (const [path, text] of Object.entries(files)) data.append(field, new Blob([text]), path);
  return data;
}

async function create(name = newName(), extra: Record<string, unknown> = {}): Promise<Answer["body"]> {
  const { status, body } = await mine.secret.post(PATH, {
    name,
    description: "Test.",
    instructions: "# One",
    ...extra,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

/** A reference to a skill, as a node of a flow makes it. */
function referenceTo(id: string, version?: number): FlowReference {
  const node_id = `${id}@${version ?? "default"}`;
  return { kind: "skill", id, node_id, node_path: node_id, path: [], ...(version === undefined ? {} : { version }) };
}

/** The locations of a 422, and their messages. */
function refusal({ status, body }: Answer): [number, unknown[]] {
  return [status, body.detail?.map?.(({ loc }: { loc: unknown[] }) => loc)];
}

describe("uploading a skill", () => {
  it("accepts files, an archive and JSON, and recognises the same files however they are packed", async () => {
    const name = newName();
    const head = "license: MIT\ncompatibility: any\nmetadata:\n  version: 1.0\nallowed-tools: Read Bash(git:*)\n";
    const files = { "SKILL.md": skillMd(name, head), "references/more.md": "more", "scripts/run.sh": "echo" };
    const created = await mine.secret.post(PATH, form(files));
    const { skill_id } = created.body;
    expect([created.status, created.body, created.headers.get("location")]).toEqual([
      201,
      {
        skill_id,
        name,
        description: `What ${name} is for.`,
        file_count: 3,
        size: Object.values(files).join("").length,
        content_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        latest_version: 1,
        default_version: 1,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
      `${PATH}/${skill_id}`,
    ]);
    const versions = `${PATH}/${skill_id}/versions`;
    // Inside a folder, with the files that macOS adds.
    const inFolder = Object.fromEntries(Object.entries(files).map(([path, text]) => [`some-folder/${path}`, text]));
    const zip = buildZip({ ...inFolder, "__MACOSX/some-folder/._SKILL.md": "x", "some-folder/.DS_Store": "x" });
    const asBody = await mine.secret.post(versions, zip, ZIP);
    const asPart = new FormData();
    asPart.set("file", new Blob([new Uint8Array(zip)]), "skill.zip");
    for (const again of [
      asBody,
      await mine.secret.post(versions, asPart),
      await mine.secret.post(versions, form(files)),
    ])
      expect([again.status, again.body.version, again.body.content_hash]).toEqual([200, 1, created.body.content_hash]);
    const read = await viewer.get(`${versions}/1`);
    expect([read.status, read.body]).toMatchObject([
      200,
      {
        name,
        license: "MIT",
        compatibility: "any",
        metadata: { version: "1.0" },
        allowed_tools: ["Read", "Bash(git:*)"],
        instructions: "# Do it\n\nSee `references/more.md`.\n",
        files: [{ path: "SKILL.md" }, { path: "references/more.md", size: 4 }, { path: "scripts/run.sh" }],
      },
    ]);
    const json = await mine.secret.post(versions, {
      name,
      description: 'With "quotes": and\nlines',
      instructions: "# Two",
      files: [{ path: "a.bin", content_base64: "AP8=" }],
    });
    expect([json.status, json.body]).toMatchObject([
      201,
      { version: 2, description: 'With "quotes": and\nlines', file_count: 2 },
    ]);
    expect((await mine.secret.get(`${versions}/2`)).body.instructions).toBe("# Two");
  });

  it("returns the archive with the same content, in a folder with the skill's name", async () => {
    const { skill_id, name, content_hash } = await create(newName(), {
      files: [
        { path: "empty.txt", content_base64: "" },
        { path: "ü/data.bin", content_base64: "AP8=" },
      ],
    });
    const answer = await mine.secret.raw("GET", `${PATH}/${skill_id}/versions/default`, undefined, {
      headers: { accept: "application/zip" },
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect([answer.status, answer.headers.get("content-type"), answer.headers.get("etag")]).toEqual([
      200,
      "application/zip",
      `"${content_hash}"`,
    ]);
    expect(answer.headers.get("content-disposition")).toContain(`${name}-1.zip`);
    const unpacked: Record<string, string> = {};
    for await (const entry of zipEntries(bytes)) unpacked[entry.path] = (await entry.read()).toString("latin1");
    expect(unpacked).toEqual({
      [`${name}/SKILL.md`]: expect.stringContaining(name),
      [`${name}/empty.txt`]: "",
      [`${name}/ü/data.bin`]: "\0\u00ff",
    });
    const again = await mine.secret.post(`${PATH}/${skill_id}/versions`, bytes, ZIP);
    expect([again.status, again.body.content_hash]).toEqual([200, content_hash]);
  });

  it("happens once per Idempotency-Key, and rejects a name that exists", async () => {
    const options = { headers: { "Idempotency-Key": "skill-once" } };
    const files = { "SKILL.md": skillMd("once") };
    const first = await mine.secret.post(PATH, form(files), options);
    const again = await mine.secret.post(PATH, form(files), options);
    expect([again.status, again.body, again.headers.get("idempotent-replayed")]).toEqual([201, first.body, "true"]);
    const other = await mine.secret.post(PATH, form({ "SKILL.md": skillMd("twice") }), options);
    expect([other.status, other.body.code]).toEqual([409, "idempotency_conflict"]);
    const taken = await mine.secret.post(PATH, form(files));
    expect([taken.status, taken.body]).toMatchObject([409, { code: "name_taken", skill_id: first.body.skill_id }]);
    expect((await others.secret.post(PATH, form(files))).status).toBe(201);
  });

  it("returns the first response again for a version, too", async () => {
    const { skill_id, name } = await create();
    const options = { headers: { "Idempotency-Key": `version-${skill_id}` } };
    const post = (text: string) =>
      mine.secret.post(`${PATH}/${skill_id}/versions`, form({ "SKILL.md": skillMd(name, "", text) }), options);
    const first = await post("# Two");
    const again = await post("# Two");
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect((await post("# Three")).body.code).toBe("idempotency_conflict");
  });

  it("creates one version for many simultaneous uploads of the same content", async () => {
    const { skill_id, name } = await create();
    const body = { name, description: "Test.", instructions: "# Two" };
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => mine.secret.post(`${PATH}/${skill_id}/versions`, body)),
    );
    expect(answers.map((each) => each.status).toSorted()).toEqual([200, 200, 200, 200, 200, 201]);
    expect(new Set(answers.map((each) => each.body.version))).toEqual(new Set([2]));
    const { body: page } = await mine.secret.get(`${PATH}/${skill_id}/versions`);
    expect(page.data.map((each: { version: number }) => each.version)).toEqual([2, 1]);
  });
});

describe("an upload error names the file and the field", () => {
  const at = (...rest: unknown[]): unknown[] => ["body", "files", ...rest];
  const fields: [string, string, unknown[]][] = [
    ["no front matter", "# Only Markdown", at("SKILL.md", "front matter")],
    [
      "a head that is too long",
      `---\nname: x\ndescription: x\n#${"x".repeat(16 * 1024)}\n---\nx`,
      at("SKILL.md", "front matter"),
    ],
    ["no end of it", "---\nname: x\n", at("SKILL.md", "front matter")],
    ["no YAML", "---\nname: [\n---\n", at("SKILL.md", "front matter")],
    ["a list", "---\n- name\n---\n", at("SKILL.md", "front matter")],
    ["aliases", "---\na: &a [x]\nb: *a\nname: x\ndescription: x\n---\n", at("SKILL.md", "front matter")],
    ["a name twice", "---\nname: x\nname: y\ndescription: x\n---\n", at("SKILL.md", "front matter")],
    ["U+0000", '---\nname: x\ndescription: "a\\0b"\n---\n', at("SKILL.md", "front matter")],
    ["brackets", `---\nname: ${"[".repeat(10_000)}\n---\n`, at("SKILL.md", "front matter")],
    ["capitals in the name", "---\nname: Skill\ndescription: x\n---\n", at("SKILL.md", "name")],
    ["no description", "---\nname: skill\n---\n", at("SKILL.md", "description")],
    ["a long description", `---\nname: skill\ndescription: ${"x".repeat(1025)}\n---\n`, at("SKILL.md", "description")],
    ["metadata of lists", "---\nname: s\ndescription: x\nmetadata: {a: [b]}\n---\n", at("SKILL.md", "metadata", "a")],
  ];
  it.each(fields)("for a SKILL.md: %s", async (_, text, place) => {
    expect(refusal(await mine.secret.post(PATH, form({ "SKILL.md": text })))).toEqual([422, [place]]);
  });

  const valid = skillMd("refused");
  const link: ZippedFile = { content: "/etc/passwd", mode: 0o120_777 };
  const archives: [string, Record<string, string | ZippedFile>, unknown[]][] = [
    ["no SKILL.md", { "skill.md": valid }, at("SKILL.md")],
    ["SKILL.md too deep", { "a/b/SKILL.md": valid }, at("SKILL.md")],
    ["an absolute path", { "SKILL.md": valid, "/etc/cron.d/x": "x" }, at("/etc/cron.d/x", "path")],
    ["a drive", { "SKILL.md": valid, "C:/x": "x" }, at("C:/x", "path")],
    ["a long path", { "SKILL.md": valid, ["x".repeat(256)]: "x" }, at("x".repeat(255), "path")],
    ["..", { "SKILL.md": valid, "a/../../x": "x" }, at("a/../../x", "path")],
    ["a backslash", { "SKILL.md": valid, "..\\x": "x" }, at("..\\x", "path")],
    ["a path that is a folder too", { "SKILL.md": valid, a: "x", "a/b": "x" }, at("a", "path")],
    ["a symbolic link", { "SKILL.md": valid, link }, at("link")],
    ["a device", { "SKILL.md": valid, tty: { content: "", mode: 0o020_666 } }, at("tty")],
    ["more than it claims", { "SKILL.md": valid, bomb: { content: "x".repeat(1e6), claims: 10 } }, at("bomb")],
  ];
  it.each(archives)("for an archive: %s", async (_, files, place) => {
    expect(refusal(await mine.secret.post(PATH, buildZip(files), ZIP))).toEqual([422, [place]]);
  });

  it("for more than 200 files or 30 MiB, packed or not, before unpacking", async () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`${index}.txt`, "x"]));
    const large = { content: Buffer.alloc(31 * 1024 * 1024) };
    for (const files of [
      { "SKILL.md": valid, ...many },
      { "SKILL.md": valid, large },
    ]) {
      expect(refusal(await mine.secret.post(PATH, buildZip(files), ZIP))).toEqual([422, [["body", "files"]]]);
    }
    expect(refusal(await mine.secret.post(PATH, form({ "SKILL.md": valid, ...many })))[0]).toBe(422);
    const upload = form({ "SKILL.md": valid });
    upload.append("files[]", new Blob([large.content]), "large.bin");
    expect(refusal(await mine.secret.post(PATH, upload))).toEqual([422, [["body", "files"]]]);
  });

  it("for a body that is not a valid archive, form or JSON", async () => {
    expect(refusal(await mine.secret.post(PATH, "not a zip", ZIP))).toEqual([422, [["body"]]]);
    expect((await mine.secret.post(PATH, "x", { headers: { "content-type": "text/plain" } })).status).toBe(415);
    expect((await mine.secret.post(PATH)).status).toBe(415);
    expect(refusal(await mine.secret.post(PATH, form({ "theirs.txt": "x" }, "attachment")))[0]).toBe(422);
    expect(refusal(await mine.secret.post(PATH, { name: "X", description: "", instructions: "", files: 1 }))[0]).toBe(
      422,
    );
  });

  it("for files that are not valid base64; long valid ones are read", async () => {
    const answers = ["YQ=", "Y Q==", "YWJj".repeat(5_000_000)].map((content_base64) => {
      const files = [{ path: "a", content_base64 }];
      return mine.secret.post(PATH, { name: newName(), description: "x", instructions: "x", files });
    });
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([422, 422, 201]);
  });

  it("for a version with another name", async () => {
    const { skill_id } = await create();
    const answer = await mine.secret.post(`${PATH}/${skill_id}/versions`, form({ "SKILL.md": valid }));
    expect(refusal(answer)).toEqual([422, [at("SKILL.md", "name")]]);
  });
});

describe("the versions of a skill", () => {
  it("never change; `default` is chosen by a person, and `latest` is the newest", async () => {
    const { skill_id, name } = await create();
    const path = `${PATH}/${skill_id}`;
    const second = { name, description: "Two.", instructions: "# Two" };
    expect((await mine.secret.post(`${path}/versions`, second)).body.version).toBe(2);
    const before = await mine.secret.get(path);
    expect(before.body).toMatchObject({ latest_version: 2, default_version: 1, description: "Test." });
    const versionOf = async (version: string): Promise<number> =>
      (await viewer.get(`${path}/versions/${version}`)).body.version;
    expect([await versionOf("latest"), await versionOf("default")]).toEqual([2, 1]);
    const headers = { "If-Match": before.headers.get("etag") ?? "" };
    const changed = await mine.secret.patch(path, { default_version: 2 }, { headers });
    expect([changed.status, changed.body]).toMatchObject([200, { default_version: 2, description: "Two." }]);
    expect(await versionOf("default")).toBe(2);
    const stale = await mine.secret.patch(path, { default_version: 1 }, { headers });
    expect([stale.status, stale.body.code]).toEqual([412, "precondition_failed"]);
    expect(refusal(await mine.secret.patch(path, { default_version: 3 }))).toEqual([
      422,
      [["body", "default_version"]],
    ]);
    for (const version of ["3", "0", "-1", "1.5", "newest", "99999999999"])
      expect((await mine.secret.get(`${path}/versions/${version}`)).status, version).toBe(404);
  });

  it("cannot be deleted while a published flow uses the skill", async () => {
    const { skill_id } = await create();
    const project_id = await mine.deploy(echo());
    const version = { project_id, org_id: mine.org_id, version: 1 };
    await mine.withDatabase((database) =>
      database.org(mine.org_id, async (db) => {
        await insertFlowReferences(db, version, [{ kind: "skill", id: skill_id }]);
        const none = [skill_id.replace(/.$/, "x"), mine.org_id];
        const asked = [[skill_id], [skill_id, 1], [skill_id, 2], ...none.map((id) => [id])] as [string, number?][];
        expect(
          (
            await referenceProblems(
              db,
              asked.map((each) => referenceTo(...each)),
            )
          ).map(({ code, node_id }) => [code, node_id]),
        ).toEqual([
          ["unknown_skill", `${skill_id}@2`],
          ["unknown_skill", expect.stringContaining("x@")],
          ["unknown_skill", expect.stringContaining(mine.org_id)],
        ]);
      }),
    );
    const used_by = [{ project_id, name: "test" }];
    expect((await viewer.get(`${PATH}/${skill_id}`)).body.used_by).toEqual(used_by);
    const refused = await mine.secret.delete(`${PATH}/${skill_id}`);
    expect([refused.status, refused.body]).toMatchObject([409, { code: "in_use", used_by }]);
    expect((await mine.secret.delete(`/v2/projects/${project_id}`)).status).toBe(204);
    expect((await mine.secret.delete(`${PATH}/${skill_id}`)).status).toBe(204);
  });

  it("send an event when they are created", async () => {
    const { skill_id, name, content_hash } = await create();
    const events = await mine.withDatabase((database) =>
      database.system((db) =>
        db.query("select type, data from outbox where org_id = $1 and data ->> 'skill_id' = $2", [
          mine.org_id,
          skill_id,
        ]),
      ),
    );
    const data = { skill_id, name, version: 1, description: "Test.", content_hash };
    expect(events).toEqual([{ type: "skill.version.created", data }]);
  });
});

describe("access to skills", () => {
  const all = async (api: TestClient, at: string): Promise<Answer[]> => [
    await api.get(PATH),
    await api.post(PATH, { name: newName(), description: "x", instructions: "x" }),
    await api.get(at),
    await api.get(`${at}/versions`),
    await api.get(`${at}/versions/1`),
    await api.patch(at, {}),
    await api.post(`${at}/versions`, form({ "SKILL.md": "x" })),
    await api.delete(at),
  ];

  it("requires a credential that is not public; viewers can read", async () => {
    const at = `${PATH}/${(await create()).skill_id}`;
    const statuses = async (api: TestClient): Promise<number[]> => (await all(api, at)).map((each) => each.status);
    expect(await statuses(checkedClient(mine.target))).toEqual(Array(8).fill(401));
    expect(await statuses(mine.public)).toEqual(Array(8).fill(403));
    expect(await statuses(viewer)).toEqual([200, 403, 200, 200, 200, 403, 403, 403]);
    const [theirs, unknown] = [await all(others.secret, at), await all(others.secret, UNKNOWN)];
    expect(theirs.slice(2).map((each) => each.status)).toEqual(Array(6).fill(404));
    expect(theirs.slice(2).map((each) => each.body.detail)).toEqual(unknown.slice(2).map((each) => each.body.detail));
    expect(await statuses(mine.secret)).toEqual([200, 201, 200, 200, 200, 200, 422, 204]);
    expect((await mine.secret.get(at)).status).toBe(404);
  });
});
