import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readDevState, type DevState } from "../../src/cli/dev-state.ts";
import { rawCompose, readCompose } from "../support/compose-file.ts";
import { administer } from "../support/database.ts";
import { installGoTool } from "../support/go-tool.ts";
import { findPostgresTools } from "../support/postgres-tools.ts";
import { eventually } from "../support/scratch.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const docs = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
const PAGES = ["README.md", "examples/README.md", ...docs.map((name) => `docs/${name}`)];

/** Blocks that this test does not execute: how they begin, and what executes them instead, or why nothing can. */
const ELSEWHERE: ReadonlyArray<readonly [page: string, begins: string, where: string]> = [
  ["README.md", "npm start ", "test/dev/npm-start.test.ts"],
  ["docs/development.md", "npm run check ", "a checkout: .ci/run"],
  ["docs/evals.md", "", "test/cli/eval-session.test.ts"],
  ["docs/http.md", "export URL=https://", "another server, in place of the block before"],
  ["docs/operation.md", "docker run --rm --volume", "an installation of an earlier version"],
  ["docs/operation.md", "npm pack ", "test/long/package.test.ts"],
  ["docs/operation.md", "export DATABASE_URL=", "test/long/restore.test.ts"],
  ["docs/operation.md", "pg_dump ", "test/long/restore.test.ts"],
  ["docs/operation.md", 'psql "$ADMIN_URL"', "test/long/restore.test.ts"],
  ["docs/operation.md", "pg_restore ", "test/long/restore.test.ts"],
  ["docs/operation.md", "export MILLRACE_DEPLOYMENT=", "test/long/deployment.test.ts"],
];

/** State that the reader of a block has: a trigger that failed and was then corrected. */
const BEFORE: ReadonlyArray<readonly [begins: string, commands: string]> = [
  [
    "npx --no-install millrace triggers firings",
    `HOOK=$(npx --no-install millrace triggers create hello --webhook none --input in-0=payload.body.absent --json)
curl -s "$(node -p 'JSON.parse(process.argv[1]).address' "$HOOK")" -H "Content-Type: application/json" -d '{}' || true
curl -s -X PATCH "$URL/v2/triggers/$(node -p 'JSON.parse(process.argv[1]).id' "$HOOK")" -H "Authorization: Bearer $SECRET_KEY" \\
  -H "Content-Type: application/json" -d '{"inputs": {"in-0": "string(size(payload.body))"}}'
`,
  ],
];

/** The value that replaces `<name>`: the field with that name in the first item that a command lists. */
const LISTS: Readonly<Record<string, string>> = {
  run_id: "runs list",
  id: "triggers list",
  firing_id: "triggers firings $(first id triggers list)",
  skill_id: "skills list",
  subscription_id: "webhooks list",
  knowledge_base_id: "kb list",
  connection_id: "connections list",
  org_id: "orgs list",
  page_id: "pages list hello",
};

/** The blocks of commands of a page. */
const blocksOf = (page: string): string[] =>
  [...readFileSync(join(root, page), "utf8").matchAll(/^```(?:bash|sh)\n([\s\S]*?)^```/gm)].map(
    ([, code = ""]) => code,
  );
const isElsewhere = (page: string, code: string): boolean =>
  ELSEWHERE.some(([of, begins]) => of === page && code.startsWith(begins));

/** The block as its reader would type it: IDs replace placeholders, Ctrl-C ends commands that do not end on their own, and loads are short. */
function typed(code: string): string {
  const before = BEFORE.find(([begins]) => code.startsWith(begins))?.[1] ?? "";
  return (before + code)
    .replaceAll(/<(\w+)>/g, (whole, name: string) => (LISTS[name] ? `$(first ${name} ${LISTS[name]})` : whole))
    .replace("--rate 20 --duration 30", "--rate 20 --duration 3")
    .replaceAll(/^npx --no-install millrace (?:webhooks listen|model-stub)\b.*$/gm, "interrupted $&");
}

const HELPERS = `
set -eEuo pipefail
trap 'echo "FAILED: $BASH_COMMAND" >&2' ERR
first() { npx --no-install millrace "\${@:2}" --json | node -p "const v = JSON.parse(fs.readFileSync(0)); (v.data ?? v)[0].$1"; }
interrupted() (
  set -m # Without job control, commands in the background ignore SIGINT.
  "$@" > said 2>&1 & of=$!
  for _ in {1..300}; do [ -s said ] && break; sleep 0.1; done
  [ -s said ]
  kill -INT $of
  wait $of || [ $? = 130 ]
)
`;

describe("the commands of the documentation", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-commands-"));
  const bin = join(folder, "bin");
  const helm = installGoTool("helm.sh/helm/v3/cmd/helm", "v3.18.6");
  const tools = findPostgresTools();
  let state: DevState;
  let stop: () => Promise<unknown> = async () => undefined;

  beforeAll(async () => {
    mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
    symlinkSync(join(root, "bin/millrace.mjs"), join(folder, "node_modules/.bin/millrace"));
    for (const name of ["examples", "deploy"]) symlinkSync(join(root, name), join(folder, name));
    mkdirSync(bin);
    const shim = (name: string, code: string): void => {
      writeFileSync(join(bin, name), `#!/bin/sh\n${code}\n`);
      chmodSync(join(bin, name), 0o755);
    };
    const real = (name: string): string =>
      spawnSync("sh", ["-c", `command -v ${name} || true`], { encoding: "utf8" }).stdout.trim();
    // A 4xx or 5xx response counts as a failure.
    shim("curl", `exec ${real("curl")} --fail-with-body "$@"`);
    // npx takes a second for each command.
    shim(
      "npx",
      `[ "$1 $2" = "--no-install millrace" ] || exit 64; shift 2; exec node ${root}/dist/src/cli-main.js "$@"`,
    );
    shim("npm", `cd ${root} && exec ${real("npm")} --silent "$@"`);
    // Docker is not available, so commands for a container run here with that service's configuration.
    shim(
      "docker",
      `[ "$1" = compose ] && [ "$2" = up ] && exit 0
[ "$1 $2 $3" = "compose run --rm" ] && case " ${Object.keys(rawCompose().services).join(" ")} " in *" $4 "*) exit 0;; esac
[ "$1 $2" = "compose exec" ] && shift 3 && cd ${root} && exec "$@"
echo "docker $*" >&2; exit 64`,
    );
    // There is no cluster, so kubectl only validates.
    shim("kubectl", real("kubectl") === "" ? "exit 0" : `exec ${real("kubectl")} "$@" --dry-run=client`);
    shim(
      "helm",
      "skipped" in helm
        ? "exit 0"
        : `shift; for word; do shift; [ "$word" = --reuse-values ] || set -- "$@" "$word"; done
exec ${helm.program} template "$@" --kube-version 1.30.0`,
    );
    if (typeof tools !== "string") shim("psql", "exit 0");

    const env: NodeJS.ProcessEnv = { ...process.env, PORT: "0" };
    for (const name of ["DATABASE_URL", "TEMPORAL_ADDRESS"]) delete env[name];
    const dev = spawn(process.execPath, [join(root, "dist/src/cli-main.js"), "dev"], { cwd: folder, env });
    let output = "";
    for (const stream of [dev.stdout, dev.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
    const ended = new Promise((resolve) => dev.once("exit", resolve));
    stop = () => {
      dev.kill("SIGINT");
      return ended;
    };
    await eventually(`npm start:\n${output}`, () => output.includes("searches documents, which are being"), 180_000);
    state = readDevState(join(folder, ".millrace")) as DevState;
  }, 200_000);
  afterAll(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs the blocks of a page in a shell, one after the other. */
  function type(blocks: readonly string[], env: Readonly<Record<string, string>> = {}): void {
    const script = [HELPERS, ...blocks.map(typed)].join("\n").replaceAll("/var/backups/millrace", `${folder}/backups`);
    const path = [bin, ...(typeof tools === "string" ? [tools] : []), process.env["PATH"]].join(delimiter);
    const { status, stdout, stderr } = spawnSync("bash", ["--norc", "-c", script], {
      cwd: folder,
      encoding: "utf8",
      env: { PATH: path, HOME: process.env["HOME"], ...env },
      timeout: 300_000,
    });
    expect([
      status,
      stderr.replaceAll(/^npm warn.*\n?/gm, "").slice(-1500),
      status === 0 || stdout.slice(-1500),
    ]).toEqual([0, expect.anything(), true]);
  }

  const variables = (page: string): string[] =>
    page !== "docs/http.md" && readFileSync(join(root, page), "utf8").includes("http.md#before-the-examples")
      ? blocksOf("docs/http.md")
          .slice(0, 3)
          .filter((code) => !isElsewhere("docs/http.md", code))
      : [];
  const pages = PAGES.filter((page) => blocksOf(page).some((code) => !isElsewhere(page, code)));

  it.each(pages.filter((page) => page !== "docs/operation.md"))(
    "of %s work as printed",
    (page) => {
      type([...variables(page), ...blocksOf(page).filter((code) => !isElsewhere(page, code))]);
    },
    400_000,
  );

  it("of docs/operation.md work as printed", async () => {
    const { database_url, temporal_address } = state;
    const env = {
      DATABASE_URL: database_url,
      TEMPORAL_ADDRESS: temporal_address,
      MILLRACE_BLOB_URL: join(folder, ".millrace/blobs"),
      MILLRACE_PRIVATE_HOSTS: "loopback",
    };
    const fresh = new URL(database_url);
    fresh.pathname = "/fresh";
    await administer(database_url, "create database fresh encoding 'UTF8' template template0");
    const key = readFileSync(join(folder, ".millrace/blobs/master.key"), "utf8").trim();
    mkdirSync(join(folder, "restored"));
    const elsewhere = `export DATABASE_URL='${fresh.href}' MILLRACE_BLOB_URL='${folder}/restored' MILLRACE_MASTER_KEY='${key}'`;
    const blocks = blocksOf("docs/operation.md").filter((code) => !isElsewhere("docs/operation.md", code));
    type(
      [
        ...variables("docs/operation.md"),
        ...blocks.map((code) => (/^npx .* restore \S+\n/.test(code) ? `(\n${elsewhere}\n${code})` : code)),
      ],
      env,
    );
    // docker-compose.yml accepts the file that the first block creates.
    expect(readCompose(readFileSync(join(folder, ".env"), "utf8")).services).toHaveProperty("api");
  }, 400_000);

  it("are executed here, or by the named test", () => {
    for (const [page, begins, where] of ELSEWHERE) {
      expect([page, begins, blocksOf(page).some((code) => code.startsWith(begins))]).toEqual([page, begins, true]);
      if (where.startsWith("test/")) expect([where, existsSync(join(root, where))]).toEqual([where, true]);
    }
    expect(pages.length).toBeGreaterThan(12);
    // The bare name works only if the package is installed globally.
    const bare = PAGES.flatMap((page) =>
      blocksOf(page)
        .filter((code) => !code.startsWith("npm pack "))
        .flatMap((code) => [...code.matchAll(/^(?:.*\| )?millrace .*$/gm)].map(([line]) => `${page}: ${line}`)),
    );
    expect(bare).toEqual([]);
  });
});
