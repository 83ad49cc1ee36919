import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { installPythonTool } from "../support/python-tool.ts";
import { scratchDirectory } from "../support/scratch.ts";

// Client generators of others must handle openapi.json: each generates every operation, and the result type-checks.

const root = fileURLToPath(new URL("../..", import.meta.url));
const document = join(root, "openapi.json");
const METHODS = ["get", "put", "post", "delete", "patch", "head", "options"];
const { paths } = JSON.parse(readFileSync(document, "utf8")) as { paths: Record<string, Record<string, unknown>> };
const operationIds = Object.values(paths)
  .flatMap((item) => METHODS.flatMap((method) => (item[method] ? [item[method] as { operationId: string }] : [])))
  .map(({ operationId }) => operationId)
  .toSorted();

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    timeout: 600_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  expect(status, `${stdout}${stderr}`).toBe(0);
  return stdout + stderr;
}

/** Type-checks a folder as strictly as possible, including the generator's libraries. */
function check(folder: string): void {
  const lib = ["es2023", "dom", "dom.iterable"];
  const compilerOptions = { strict: true, noEmit: true, target: "es2023", lib, module: "preserve", types: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["."] }));
  run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder]);
}

it("openapi-typescript", () => {
  const folder = scratchDirectory();
  run(process.execPath, ["scripts/generate-client.mjs"]);
  copyFileSync(join(root, "web/api/schema.d.ts"), join(folder, "schema.d.ts"));
  const [, operations = ""] = readFileSync(join(folder, "schema.d.ts"), "utf8").split("export interface operations {");
  const made = [...operations.matchAll(/^ {4}(\w+): \{$/gm)].map(([, name = ""]) => name);
  expect(made.toSorted()).toEqual(operationIds);
  check(folder);
});

it("hey-api", () => {
  const folder = scratchDirectory();
  const program = join(root, "node_modules/@hey-api/openapi-ts/dist/run.mjs");
  const typescript5 = join(root, "scripts/typescript5.mjs");
  run(process.execPath, ["--import", typescript5, program, "-i", document, "-o", join(folder, "client"), "-s"]);
  const made = [...readFileSync(join(folder, "client/sdk.gen.ts"), "utf8").matchAll(/^export const (\w+) = </gm)];
  expect(made.map(([, name = ""]) => name).toSorted()).toEqual(operationIds);
  check(folder);
});

/** Content types that the generator does not know: archives are bytes, JSON Lines are text, and nobody gets events who does not accept them. */
const CONTENT_TYPES = {
  "application/zip": "application/octet-stream",
  "application/x-ndjson": "text/plain",
  "text/event-stream": "application/json",
};

const python = installPythonTool("openapi-python-client", "0.29.1", ["pyrefly==1.4.1"]);
if ("skipped" in python) process.stderr.write(`openapi-python-client is skipped: ${python.skipped}\n`);

it.skipIf("skipped" in python)("openapi-python-client", () => {
  if ("skipped" in python) return;
  const folder = scratchDirectory();
  const config = join(folder, "config.yaml");
  // No formatter runs afterwards. JSON is valid YAML, too.
  writeFileSync(config, JSON.stringify({ post_hooks: [], content_type_overrides: CONTENT_TYPES }));
  const client = join(folder, "client");
  const generate = ["-m", "openapi_python_client", "generate", "--path", document, "--output-path", client];
  // The generator warns about everything it cannot generate.
  const output = run(python.python, [...generate, "--meta", "none", "--config", config]);
  expect(output).not.toMatch(/warning/i);
  const made = readdirSync(join(client, "api"), { recursive: true, encoding: "utf8" }).filter((file) =>
    /\/(?!__init__)\w+\.py$/.test(file),
  );
  expect(made).toHaveLength(operationIds.length);
  const how = ["--preset", "default", "--search-path", folder, "--python-interpreter-path", python.python];
  run(python.python, ["-m", "pyrefly", "check", ...how, client]);
});
