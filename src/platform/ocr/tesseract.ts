import { createRequire } from "node:module";
import { gunzipSync } from "node:zlib";
import { withoutControls } from "../parsing/decode-text.ts";

/** The engine, in WebAssembly: it decodes and reads its input in its own memory. */
export interface Tesseract {
  /** The text of a picture (PNG, JPEG, WebP or PGM); null if the bytes are not a picture. `rotation` is the EXIF orientation, 1 to 8. */
  read(image: Uint8Array, rotation?: number): string | null;
}

interface TesseractModule {
  readonly FS: { writeFile(path: string, data: Uint8Array): void };
  readonly TessBaseAPI: new () => {
    Init(folder: string, language: string, engine: number): number;
    SetPageSegMode(mode: number): void;
    SetImageFile(rotation: number, angle: number): number;
    Recognize(monitor: null): number;
    GetUTF8Text(): string;
    Clear(): void;
  };
}

const LSTM_ONLY = 1;
/** Finds columns and paragraphs. */
const PSM_AUTO = 3;

/**
 * Starts the engine with language data (gzip). Uses the core of tesseract.js, because the package around it runs it in a separate thread,
 * which this process may not start.
 */
export async function startTesseract(data: Uint8Array): Promise<Tesseract> {
  const require = createRequire(import.meta.url);
  const open = require("tesseract.js-core/tesseract-core-simd-lstm.js") as (
    settings: object,
  ) => Promise<TesseractModule>;
  const module = await open({ print: () => undefined, printErr: () => undefined });
  module.FS.writeFile("/eng.traineddata", gunzipSync(data));
  const api = new module.TessBaseAPI();
  if (api.Init("/", "eng", LSTM_ONLY) !== 0) throw new Error("Could not start Tesseract.");
  return {
    read(image, rotation = 1) {
      module.FS.writeFile("/input", image);
      if (api.SetImageFile(rotation, 0) !== 0) return null;
      api.SetPageSegMode(PSM_AUTO);
      if (api.Recognize(null) !== 0) return null;
      const text = api.GetUTF8Text();
      api.Clear();
      return withoutControls(text).toWellFormed().trim();
    },
  };
}
