import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The language data of Tesseract (English, LSTM, int8; Apache-2.0); loaded only with this digest. */
const OCR_DATA = {
  name: "eng.traineddata.gz",
  sha256: "45b4cb346724ac1774f1c36f42f182b887bcdb28ebe63e6fff90ac41f3fcff91",
} as const;

/** Optional packages. Character recognition needs all of them. */
export const OCR_PACKAGES = ["tesseract.js-core", "@napi-rs/canvas", "@tesseract.js-data/eng"] as const;

/** The language data (3 MB, compressed), verified, or why there is none. With `dir`, only that folder is used. */
export function readOcrData(dir?: string): { readonly data: Buffer } | { readonly no: string } {
  const require = createRequire(import.meta.url);
  for (const name of OCR_PACKAGES) {
    try {
      require.resolve(`${name}/package.json`);
    } catch {
      if (name === "@tesseract.js-data/eng" && dir !== undefined) continue;
      return { no: `OCR needs the optional package ${name}, which is not installed (npm ci).` };
    }
  }
  const folder = dir ?? join(dirname(require.resolve("@tesseract.js-data/eng/package.json")), "4.0.0_best_int");
  const path = join(folder, OCR_DATA.name);
  let data: Buffer;
  try {
    data = readFileSync(path);
  } catch {
    return { no: `The OCR language data is missing: ${path}.` };
  }
  if (createHash("sha256").update(data).digest("hex") !== OCR_DATA.sha256) {
    return { no: `${path} is not the expected file (its SHA-256 differs).` };
  }
  return { data };
}
