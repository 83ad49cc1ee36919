// Bundles the compiled workflows once, at build time, so that a worker starts without webpack. Arguments: the folder of the
// compiled code, the failure converter, and the file to write.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleWorkflowCode } from "@temporalio/worker";

const [compiled, failureConverter, file] = process.argv.slice(2);
const quiet = () => undefined;
const logger = { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: console.warn, error: console.error };
try {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(compiled, "workflows/index.js"),
    // Loading these once a process, and not once a workflow, saves milliseconds of each run. Workflows may share our modules:
    // their only state is caches, keyed by what the cached values are made of.
    preloadModules: ["stack-depth", "index"].map((name) => join(compiled, `workflows/${name}.js`)),
    failureConverterPath: failureConverter,
    logger,
  });
  const slim = withoutSources(code);
  await writeFile(file, slim);
  console.error(`workflow bundle: ${(slim.length / 1e6).toFixed(1)} MB`);
} catch (error) {
  // Webpack's own report has been printed; the stack would only be the bundler's.
  console.error(error.message);
  process.exitCode = 1;
}

/** Stack traces need the source map, but not the sources in it: each worker would keep them in memory. */
function withoutSources(code) {
  const [before, after] = code.split("//# sourceMappingURL=data:application/json;charset=utf-8;base64,");
  if (after === undefined) throw new Error("the bundle's source map was not found where it is expected");
  const { sourcesContent: _, ...map } = JSON.parse(Buffer.from(after, "base64").toString());
  const slim = Buffer.from(JSON.stringify(map)).toString("base64");
  return `${before}//# sourceMappingURL=data:application/json;base64,${slim}`;
}
