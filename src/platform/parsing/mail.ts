import iconv from "iconv-lite";
import PostalMime, { type Address, type Email } from "postal-mime";
import { DocumentError } from "./errors.ts";
import { htmlToText } from "./html-text.ts";
import { withoutControls } from "./decode-text.ts";
import { onOneLine } from "./office-xml.ts";
import { PropertyCollector } from "./properties.ts";
import type { ReadDocument } from "./protocol.ts";

const MAX_TITLE = 500;

/** The text of a mail: sender, recipients, content, and the names of its attachments. Throws DocumentError. */
export async function readMail(bytes: Uint8Array): Promise<Omit<ReadDocument, "pages" | "headings">> {
  const mail = await PostalMime.parse(bytes).catch((error: unknown) => {
    throw new DocumentError("document_broken", "The file is not a readable e-mail message.", { cause: error });
  });
  const title = western(onOneLine(mail.subject ?? "")).slice(0, MAX_TITLE) || null;
  const collected = new PropertyCollector();
  collected.add("author", mail.from === undefined ? undefined : addressOf(mail.from));
  collected.add("created", mail.date);
  const attached = mail.attachments.map(({ filename }) => onOneLine(filename ?? "")).filter((name) => name !== "");
  const text = [
    ...headersOf(mail).map(([name, value]) => `${name}: ${onOneLine(value)}`),
    "",
    (mail.text ?? "").trim() === ""
      ? htmlToText(mail.html ?? "").text
      : (mail.text ?? "").replace(/\r\n?/g, "\n").trim(),
    ...attached.map((name) => `Attachment: ${name}`),
  ].join("\n");
  const warnings = mail.attachments.length === 0 ? [] : ["The attachments of the e-mail were omitted."];
  return {
    title,
    properties: collected.collected(),
    text: western(withoutControls(text.toWellFormed())).trim(),
    warnings,
  };
}

/** Node 20 decodes windows-1252 as Latin-1, where these bytes are control characters that no text contains. */
function western(text: string): string {
  return text.replace(/[\u0080-\u009f]/g, (character) =>
    iconv.decode(Buffer.from(character, "latin1"), "windows-1252"),
  );
}

function headersOf({ from, to = [], cc = [], date, subject }: Email): [string, string][] {
  const headers: [string, string][] = [
    ["From", from === undefined ? "" : addressOf(from)],
    ["To", to.map(addressOf).join(", ")],
    ["Cc", cc.map(addressOf).join(", ")],
    ["Date", date ?? ""],
    ["Subject", subject ?? ""],
  ];
  return headers.filter(([, value]) => value !== "");
}

function addressOf({ name, address, group }: Address): string {
  if (group !== undefined) return `${name}: ${group.map(addressOf).join(", ")}`;
  return name === "" ? (address ?? "") : `${name} <${address ?? ""}>`;
}
