// Builds the published pages and the embed script into the given folder: for people without an account, so nothing of
// the console is in them but shared parts. Preact takes React's place, which alone would be most of a page's size.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { build } from "vite";
import { compressFolder } from "./compress.mjs";

// Tests set another NODE_ENV, with which their build would be the slower one for development.
process.env["NODE_ENV"] = "production";

const web = fileURLToPath(new URL("../web", import.meta.url));
const root = join(web, "published");
const outDir = resolve(process.argv[2] ?? "dist/web-public");
const target = ["chrome111", "firefox115", "safari16.4"];
const common = { configFile: false, publicDir: false, logLevel: "warn" };

await build({
  ...common,
  root,
  base: "/f/",
  plugins: [react({ jsxImportSource: "console" })],
  resolve: {
    alias: [
      { find: "console/jsx-runtime", replacement: join(web, "marks/jsx-runtime.ts") },
      { find: /^react\/jsx-runtime$/, replacement: "preact/jsx-runtime" },
      { find: /^react-dom\/client$/, replacement: "preact/compat/client" },
      { find: /^react$/, replacement: "preact/compat" },
    ],
  },
  build: {
    outDir,
    emptyOutDir: true,
    target,
    // The content security policy refuses assets that are inlined as data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: { input: join(root, "index.html") },
  },
});

// A classic script in one file, because other sites name it in a script tag.
const { output } = (
  await build({
    ...common,
    root,
    build: {
      write: false,
      target,
      modulePreload: false,
      lib: { entry: join(root, "embed.ts"), formats: ["iife"], name: "millraceEmbed" },
    },
  })
)[0];
const script = output.find((file) => file.type === "chunk");
writeFileSync(join(outDir, "embed.js"), script.code);

const shipped = compressFolder(outDir);
const embed = readFileSync(join(outDir, "embed.js.gz")).length;
console.error(
  `published pages: ${Math.round((shipped - embed) / 1000)} kB compressed; embed script: ${Math.round(script.code.length / 1000)} kB`,
);
