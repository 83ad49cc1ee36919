import { createRequire } from "node:module";
import { gunzipSync } from "node:zlib";
import { withoutControls } from "../parsing/decode-text.ts";

/** The engine, in WebAssembly: what it is given it decodes and reads in a memory of its own. */
export interface Tesseract {
  /** The text of a picture (PNG, JPEG, WebP or PGM); null where it is none. `rotation` is that of EXIF, 1 to 8. */
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
 * Starts the engine with language data (gzip). It is the core of tesseract.js: the package around it would run the same in a
 * thread of its own, which this process may not start.
 */
export async function startTesseract(data: Uint8Array): Promise<Tesseract> {
  const require = createRequire(import.meta.url);
  const open = require("tesseract.js-core/tesseract-core-simd-lstm.js") as (
    settings: object,
  ) => Promise<TesseractModule>;
  const module = await open({ print: () => undefined, printErr: () => undefined });
  module.FS.writeFile("/eng.traineddata", gunzipSync(data));
  const api = new module.TessBaseAPI();
  if (api.Init("/", "eng", LSTM_ONLY) !== 0) throw new Error("Tesseract does not start.");
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
