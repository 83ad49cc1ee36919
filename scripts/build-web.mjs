// Builds the console into the given folder. Names of assets have a digest of their contents; compressed copies lie beside them.
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { build } from "vite";

// Tests set another NODE_ENV, with which their build would be the slower one for development.
process.env["NODE_ENV"] = "production";

const root = fileURLToPath(new URL("../web", import.meta.url));
const outDir = resolve(process.argv[2] ?? "dist/web");

await build({
  root,
  base: "/console/",
  configFile: false,
  publicDir: false,
  logLevel: "warn",
  plugins: [react()],
  build: {
    outDir,
    emptyOutDir: true,
    target: ["chrome111", "firefox115", "safari16.4"],
    // Our content security policy refuses assets that are inlined as data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: { input: join(root, "index.html") },
  },
});

let shipped = 0;
for (const name of readdirSync(outDir, { recursive: true })) {
  const file = join(outDir, name);
  if (!statSync(file).isFile()) continue;
  const bytes = readFileSync(file);
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, brotli));
  const zipped = gzipSync(bytes, { level: 9 });
  writeFileSync(`${file}.gz`, zipped);
  shipped += zipped.length;
}
console.error(`console: ${Math.round(shipped / 1000)} kB compressed, all pages together`);
