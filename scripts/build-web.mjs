// Builds the console into the given folder. Names of assets have a digest of their contents; compressed copies lie beside them.
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { build } from "vite";
import { compressFolder } from "./compress.mjs";

// Tests set another NODE_ENV, with which their build would be the slower one for development.
process.env["NODE_ENV"] = "production";

const root = fileURLToPath(new URL("../web", import.meta.url));
const outDir = resolve(process.argv[2] ?? "dist/web");

/** The operations as the reference lists them, which has them before the document itself has come. */
function listedOperations() {
  const { tags, paths } = JSON.parse(readFileSync(fileURLToPath(new URL("../openapi.json", import.meta.url)), "utf8"));
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([
        method,
        {
          operationId: id,
          tags: [tag],
          summary,
        },
      ]) => {
        return { id, method: method.toUpperCase(), path, tag, summary };
      },
    ),
  );
  return tags.map(({ name }) => ({ name, operations: all.filter(({ tag }) => tag === name) }));
}

/** The example flows, which the list of flows offers to start from. */
function exampleFlows() {
  const folder = fileURLToPath(new URL("../examples/flows", import.meta.url));
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return names.toSorted().map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
}

/**
 * What Home needs and other pages share is one chunk: many small ones compress badly, and the first page has to name each of them.
 * What only other pages need stays out of it, so that the first load does not grow with them (test/console-size.test.ts).
 */
const COMMON = [
  /node_modules\/(react|react-dom|react-router|scheduler|openapi-fetch)\//,
  /node_modules\/@tanstack\/(?!.*(useQueries|queriesObserver)\.)/,
  /web\/parts\/(announce|copy|how-far-back|icons|list-changes|list\/fetched|node-name|states|status|table|time|usage-table)\.tsx?$/,
  /web\/api\/(client|problem|system|webhooks)\.ts$/,
  /web\/marks\/|src\/domain\/marks\.ts$|web\/pages\/project-names\.ts$/,
];

await build({
  root,
  base: "/console/",
  configFile: false,
  publicDir: false,
  logLevel: "warn",
  plugins: [react({ jsxImportSource: "console" })],
  resolve: { alias: { "console/jsx-runtime": join(root, "marks/jsx-runtime.ts") } },
  define: {
    LISTED_OPERATIONS: JSON.stringify(listedOperations()),
    EXAMPLE_FLOWS: JSON.stringify(exampleFlows()),
  },
  build: {
    outDir,
    emptyOutDir: true,
    target: ["chrome111", "firefox115", "safari16.4"],
    // Our content security policy refuses assets that are inlined as data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      input: join(root, "index.html"),
      output: { codeSplitting: { groups: [{ name: "common", test: (id) => COMMON.some((part) => part.test(id)) }] } },
    },
  },
});

console.error(`console: ${Math.round(compressFolder(outDir) / 1000)} kB compressed, all pages together`);
