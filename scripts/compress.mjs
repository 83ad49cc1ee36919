import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** Writes compressed copies beside all files of a folder. Returns the size of the gzip copies together (bytes). */
export function compressFolder(folder) {
  let shipped = 0;
  for (const name of readdirSync(folder, { recursive: true })) {
    const file = join(folder, name);
    if (!statSync(file).isFile()) continue;
    const bytes = readFileSync(file);
    const brotli = {
      params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    };
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, brotli));
    const zipped = gzipSync(bytes, { level: 9 });
    writeFileSync(`${file}.gz`, zipped);
    shipped += zipped.length;
  }
  return shipped;
}
