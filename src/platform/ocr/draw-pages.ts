import "./canvas-environment.ts";
import { createCanvas } from "@napi-rs/canvas";
import type { PDFPageProxy } from "pdfjs-dist/legacy/build/pdf.mjs";
import { isOutOfMemory, openPdf, outOfMemory } from "../parsing/pdf-open.ts";

/** A grey picture, in the form that Tesseract reads without decoding (PGM). */
export interface DrawnPage {
  readonly page: number;
  /** `null` if the page cannot be drawn. */
  readonly image: Buffer | null;
}

const POINTS_PER_INCH = 72;
/** Resolution that is sufficient for 8-point letters. */
const DOTS_PER_INCH = 200;
/** Longest side of a picture in pixels: A4 has 2339. Larger pages are drawn at a lower resolution. */
const MAX_SIDE = 3500;

/**
 * Draws pages of a PDF, one at a time. Throws DocumentError if the file is not a PDF, and for a page that needs more memory than there is.
 */
export async function* drawPages(bytes: Uint8Array, pages: readonly number[]): AsyncGenerator<DrawnPage> {
  const pdf = await openPdf(bytes, { draws: true });
  for (const page of pages) {
    yield { page, image: await draw(await pdf.getPage(page)).catch(nullUnlessOutOfMemory) };
  }
}

/** A broken page does not affect the others, but a page that exhausts memory must not count as a page without text. */
function nullUnlessOutOfMemory(error: unknown): null {
  if (isOutOfMemory(error)) throw outOfMemory();
  return null;
}

async function draw(page: PDFPageProxy): Promise<Buffer> {
  const { width, height } = page.getViewport({ scale: 1 });
  const scale = Math.min(DOTS_PER_INCH / POINTS_PER_INCH, MAX_SIDE / Math.max(width, height, 1));
  const viewport = page.getViewport({ scale });
  const [columns, rows] = [viewport.width, viewport.height].map((side) => Math.max(1, Math.ceil(side)));
  const canvas = createCanvas(columns ?? 1, rows ?? 1);
  const context = canvas.getContext("2d");
  // pdfjs is typed for browser canvases. This canvas has the part of that interface that pdfjs uses.
  const target = { canvas, canvasContext: context } as unknown as Pick<
    Parameters<PDFPageProxy["render"]>[0],
    "canvas" | "canvasContext"
  >;
  await page.render({ ...target, viewport, background: "white" }).promise;
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const head = Buffer.from(`P5\n${canvas.width} ${canvas.height}\n255\n`);
  const image = Buffer.alloc(head.length + canvas.width * canvas.height, head);
  for (let from = 0, to = head.length; to < image.length; from += 4, to += 1) {
    // Luma of ITU-R BT.601.
    image[to] = (77 * (data[from] ?? 0) + 151 * (data[from + 1] ?? 0) + 28 * (data[from + 2] ?? 0)) >> 8;
  }
  page.cleanup();
  return image;
}
