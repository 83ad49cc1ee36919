import { execFile, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { program } from "./millrace.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Stands for the folder in which `npm start` runs. */
const folder = mkdtempSync(join(tmpdir(), "millrace-session-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let tenant: ApiTenant;
let stub: ModelStub;
afterAll(() => stub.close());

beforeAll(async () => {
  tenant = await openTenant();
  // The same model settings as with `npm start`.
  stub = await startModelStub();
  const connection = { name: "stub", provider_id: "openai_compatible", scheme: "none" };
  const credential = { base_url: `${stub.url}/v1` };
  const { body: made } = await tenant.secret.post("/v2/connections", { ...connection, credential });
  await tenant.secret.patch("/v2/settings", { default_connection_id: made.connection_id, default_model: "model-stub" });
  const flow = JSON.parse(readFileSync(join(root, "examples/flows/hello.json"), "utf8"));
  const { body } = await tenant.secret.post("/v2/projects", { name: "hello", flow });
  const state = { url: tenant.target.url, org_id: tenant.org_id, secret_key: tenant.secretKey };
  mkdirSync(join(folder, ".millrace"));
  writeFileSync(
    join(folder, ".millrace", "dev.json"),
    JSON.stringify({ ...state, projects: { hello: body.project_id } }),
  );
  symlinkSync(join(root, "examples"), join(folder, "examples"));
  // The package is not installed in this folder, so `npx --no-install millrace ...` runs the built program.
  mkdirSync(join(folder, "bin"));
  const npx = join(folder, "bin", "npx");
  writeFileSync(npx, `#!/bin/sh\nshift 2\nexec "${process.execPath}" "${program}" "$@"\n`);
  chmodSync(npx, 0o755);
});

const hasCurl = spawnSync("curl", ["--version"]).status === 0;

it.skipIf(!hasCurl)("the session in docs/evals.md works as printed", async () => {
  const page = readFileSync(join(root, "docs/evals.md"), "utf8");
  const session = page.slice(page.indexOf("## A whole session"), page.indexOf("\n`eval run` takes"));
  const script = [...session.matchAll(/^```bash\n([\s\S]*?)^```/gm)].map(([, block]) => block).join("\n");
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], {
    cwd: folder,
    env: { PATH: `${join(folder, "bin")}${delimiter}${process.env["PATH"]}`, HOME: folder },
    timeout: 80_000,
  });
  const [first = "", second = ""] = stdout.split("hello version 2");
  expect(first).toContain("verdict: passed");
  expect(second).toMatch(/greets by name +3 +0 .* -1 \[-1, -1\] +0 +3 +0\n/);
  expect(second).toMatch(/^FAIL {2}pass_rate of greets by name gte 1: 0$[\s\S]*verdict: failed\nexit code 1\n/m);
  // The monitor's results: the run that fails, and the share of runs that pass.
  expect(second).toMatch(/"outputs_preview":\{"out-0":"Hi Ada"\}.*"has_more":false\}\s*0\s+1\s*$/);
  expect(readFileSync(join(folder, "report.xml"), "utf8")).toContain('failures="0"');
});
