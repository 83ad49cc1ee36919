import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { buildZip } from "../fixtures/documents/zip.ts";
import { eventually } from "../support/scratch.ts";
import { client, startService, type OwnService } from "../support/service.ts";

// A request of one organisation causes much work in a process; another organisation's request must finish before that work does.

let service: OwnService;
let noisy: ApiTenant;
let quiet: ApiTenant;
beforeAll(async () => {
  service = await startService();
  [noisy, quiet] = await Promise.all([openTenant(service), openTenant(service)]);
});
afterAll(() => service?.close());

const input = { id: "in-0", type: "input" };
const out = { id: "out-0", type: "output" };

describe("redos-own", () => {
  it("a guard message of 256 kB that nearly matches secret patterns fails its run, and the service stays responsive", async () => {
    const config = { check: "false", message: "{{in-0}}" };
    const project = await noisy.deploy(
      flow([input, { id: "guard-0", type: "guard", config }, out], ["in-0>guard-0", "guard-0>out-0"]),
    );
    for (const text of ["-eyJaaaaaaaa".repeat(21_000), "a".repeat(250_000), "Bearer ".repeat(35_000)]) {
      const { body } = await noisy.secret.post("/v2/runs", { project_id: project, inputs: { "in-0": text } });
      const health = await client(service).get("/healthz");
      expect(health.status).toBe(200);
      const run = await eventually("the run has failed", async () => {
        const { body: seen } = await noisy.secret.get(`/v2/runs/${body.run_id}`);
        return seen.state === "FAILED" ? seen : undefined;
      });
      expect(run.error.code).toBe("guard_failed");
      expect(run.error.message.length).toBeLessThanOrEqual(4096);
    }
  });
});

describe("noisy-neighbour", () => {
  it(
    "a flow is validated in time while another organisation imports large documents",
    { timeout: 120_000 },
    async () => {
      const operations = Object.fromEntries(
        Array.from({ length: 1000 }, (_, at) => [
          `/things-${at}/{id}`,
          {
            get: {
              operationId: `get${at}`,
              parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
              responses: {
                200: { description: "It", content: { "application/json": { schema: { type: "object" } } } },
              },
            },
          },
        ]),
      );
      const openapi = { openapi: "3.1.0", info: { title: "Large", version: "1" }, paths: operations };
      let underWay = 8;
      const imports = Array.from({ length: underWay }, async (_, at) => {
        const { status } = await noisy.secret.post("/v2/providers", {
          openapi: { ...openapi, servers: [{ url: "https://api.example.com" }] },
          provider_id: `large-${at}`,
          dry_run: true,
        });
        underWay -= 1;
        return status;
      });
      const definition = flow([input, out], ["in-0>out-0"]);
      const { status, body } = await quiet.secret.post("/v2/flows/validate", { flow: definition });
      expect([status, body.valid], JSON.stringify(body)).toEqual([200, true]);
      expect(underWay).toBeGreaterThan(1);
      expect(new Set(await Promise.all(imports)).size).toBe(1);
    },
  );

  it("a document is read in time while another organisation's workbooks are read", { timeout: 180_000 }, async () => {
    const document = flow([{ id: "doc-0", type: "files" }, out], ["doc-0>out-0"]);
    const upload = async (tenant: ApiTenant, flow_id: string, user_id: string, name: string, bytes: Buffer) => {
      const form = new FormData();
      form.append("file", new Blob([new Uint8Array(bytes)]), name);
      const query = { org: tenant.org_id, user_id, flow_id, node_id: "doc-0" };
      const { status, body } = await tenant.public.post("/upload_to_storage_user", form, { query });
      expect(status, JSON.stringify(body)).toBe(200);
    };
    const statusOf = async (tenant: ApiTenant, flow_id: string, user_id: string): Promise<string> =>
      (await tenant.secret.get(`/documents/${tenant.org_id}/${flow_id}/doc-0/${user_id}`)).body.data[0]?.status;
    const [costly, mine] = await Promise.all([noisy.deploy(document), quiet.deploy(document)]);
    const users = Array.from({ length: 12 }, (_, at) => `user-${at}`);
    for (const user of users) await upload(noisy, costly, user, "book.xlsx", workbook());
    await upload(quiet, mine, "ada", "letter.docx", letter());
    await eventually("the letter is read", async () => (await statusOf(quiet, mine, "ada")) === "indexed", 120_000);
    const states = await Promise.all(users.map((user) => statusOf(noisy, costly, user)));
    expect(states).toContain("pending");
  });
});

const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const relations = (...targets: readonly (readonly [string, string, string])[]): string =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${targets
    .map(([id, type, path]) => `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${path}"/>`)
    .join("")}</Relationships>`;

/** A file of a few kilobytes with the largest allowed amount of text. */
function workbook(): Buffer {
  return buildZip({
    "xl/workbook.xml": `<workbook xmlns:r="${OFFICE}"><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relations(["r1", "worksheet", "worksheets/sheet1.xml"]),
    "xl/styles.xml": '<styleSheet><cellXfs><xf numFmtId="0"/></cellXfs></styleSheet>',
    "xl/sharedStrings.xml": `<sst><si><t>${"mill ".repeat(6000)}</t></si></sst>`,
    "xl/worksheets/sheet1.xml": `<worksheet><sheetData><row>${'<c t="s"><v>0</v></c>'.repeat(800)}</row></sheetData></worksheet>`,
  });
}

function letter(): Buffer {
  const w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
  return buildZip({
    "_rels/.rels": relations(["r1", "officeDocument", "word/document.xml"]),
    "word/document.xml": `<w:document xmlns:w="${w}"><w:body><w:p><w:r><w:t>Dear Ada</w:t></w:r></w:p></w:body></w:document>`,
  });
}
