// Entry of the process that recognizes characters.
import { DocumentError } from "../parsing/errors.ts";
import { serveAnswers } from "../parsing/serve-parser.ts";
import { drawPages } from "./draw-pages.ts";
import { readOcrData } from "./ocr-data.ts";
import type { OcrReply, OcrRequest } from "./protocol.ts";
import { startTesseract, type Tesseract } from "./tesseract.ts";

/** A picture and the engine together take some 300 MiB. */
const WORN_AT_MIB = 500;

let engine: Promise<Tesseract> | undefined;

serveAnswers(WORN_AT_MIB, async (header, body) => {
  const { pages, data_dir } = header as OcrRequest;
  engine ??= start(data_dir ?? undefined);
  const tesseract = await engine;
  const texts: string[] = [];
  const warnings: string[] = [];
  if (pages === null) {
    const text = tesseract.read(body, exifRotation(body));
    if (text === null) throw new DocumentError("document_broken", "The file is not a readable image.");
    texts.push(text);
  } else {
    for await (const { page, image } of drawPages(body, pages)) {
      const text = image === null ? null : tesseract.read(image);
      if (text === null) warnings.push(`Page ${page} cannot be rendered.`);
      texts.push(text ?? "");
    }
  }
  const reply: OcrReply = { ok: true, warnings };
  return { reply, body: Buffer.from(JSON.stringify(texts)) };
});

async function start(dataDir: string | undefined): Promise<Tesseract> {
  const found = readOcrData(dataDir);
  if ("no" in found) throw new DocumentError("ocr_not_configured", found.no);
  return await startTesseract(found.data);
}

/** The camera's orientation: the value of EXIF tag 0x0112, in either byte order; 1 is upright. */
function exifRotation(image: Buffer): number {
  const head = image.subarray(0, 1000);
  const at = head.indexOf("Exif\0\0");
  if (at === -1) return 1;
  const little = head.indexOf(Buffer.from([0x12, 0x01, 3, 0, 1, 0, 0, 0]), at);
  const big = head.indexOf(Buffer.from([0x01, 0x12, 0, 3, 0, 0, 0, 1, 0]), at);
  const value = little !== -1 ? head[little + 8] : big !== -1 ? head[big + 9] : 1;
  return value !== undefined && value >= 1 && value <= 8 ? value : 1;
}
