import { expect, it } from "vitest";
import { MAIL } from "../../src/platform/parsing/mime.ts";
import { readDocument } from "../../src/platform/parsing/read-document.ts";

const read = (lines: readonly string[]) =>
  readDocument({ mime: MAIL, charset: null, scans: false }, new Uint8Array(Buffer.from(lines.join("\r\n"), "latin1")));
const HEAD = [
  "Return-Path: <ada@example.com>",
  "From: =?utf-8?B?QWRhIFfDqWly?= <ada@example.com>",
  "To: Bo <bo@example.com>, cy@example.com",
  "Subject: =?iso-2022-jp?B?GyRCP14bKEI=?= and",
  " rivers",
  "Date: Tue, 03 Mar 2026 08:00:00 +0100",
  "MIME-Version: 1.0",
];
const SHOWN = [
  "From: Ada Wéir <ada@example.com>",
  "To: Bo <bo@example.com>, cy@example.com",
  "Date: 2026-03-03T07:00:00.000Z",
  "Subject: 図 and rivers",
  "",
];

it("reads sender, recipients, text and attachment names of a mail", async () => {
  const attached = (name: string): string[] => [
    "--b",
    `Content-Type: application/pdf; name="${name}"`,
    `Content-Disposition: attachment; filename="${name}"`,
    "Content-Transfer-Encoding: base64",
    "",
    "JVBERi0=",
  ];
  const { text, title, properties, warnings } = await read([
    ...HEAD,
    'Content-Type: multipart/mixed; boundary="b"',
    "",
    "--b",
    "Content-Type: text/plain; charset=windows-1252",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "The rent is 450 =80, =",
    "due in May.",
    ...attached("rent.pdf"),
    "--b--",
  ]);
  expect(text.split("\n")).toEqual([...SHOWN, "The rent is 450 €, due in May.", "Attachment: rent.pdf"]);
  expect([title, properties["author"]]).toEqual(["図 and rivers", "Ada Wéir <ada@example.com>"]);
  expect(warnings).toEqual(["The attachments of the e-mail were omitted."]);
});

it("reads a mail that has only an HTML part as its text", async () => {
  const html = "<html><body><script>x()</script><p>The rent&nbsp;is due.</p><p>In May.</p></body></html>";
  const { text } = await read([...HEAD, "Content-Type: text/html", "", html]);
  expect(text.split("\n")).toEqual([...SHOWN, "The rent is due.", "In May."]);
});

it("deep-json: survives thousands of nested parts", async () => {
  const parts = Array.from({ length: 2000 }, (_, i) => [
    `--b${i}`,
    `Content-Type: multipart/mixed; boundary="b${i + 1}"`,
    "",
  ]);
  const result = await read([...HEAD, 'Content-Type: multipart/mixed; boundary="b0"', "", ...parts.flat(), "x"]).catch(
    (error: unknown) => error,
  );
  if (result instanceof Error) expect(result).toMatchObject({ code: "document_broken" });
});
