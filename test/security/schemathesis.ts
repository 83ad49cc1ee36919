import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const VERSION = "4.32.5";
const INSTALL_TIMEOUT_MS = 180_000;
const base = new URL("./schemathesis.toml", import.meta.url);

/** Ids that stand for themselves in the requests schemathesis makes; the others it makes up or takes from answers. */
export interface KnownIds {
  readonly org: string;
  readonly projects: readonly string[];
  readonly flows: readonly string[];
  readonly runs: readonly string[];
  readonly subscriptions: readonly string[];
  readonly deliveries: readonly string[];
  /** Projects that may be deleted. */
  readonly disposable: readonly string[];
  /** Subscriptions that may be. */
  readonly spare: readonly string[];
}

export interface SchemathesisOptions {
  readonly command: readonly string[];
  readonly url: string;
  readonly credential: string;
  readonly ids: KnownIds;
  /** Folder for its configuration and reports. */
  readonly dir: string;
  readonly args: readonly string[];
}

/**
 * Installs schemathesis into a virtual environment of its own, once. Answers the command that runs it, or why there is
 * none: no Python, or a package registry that does not answer.
 */
export function installSchemathesis(): { readonly command: readonly string[] } | { readonly skipped: string } {
  const cache = join(homedir(), ".cache/millrace");
  const home = join(cache, `schemathesis-${VERSION}`);
  const command = [join(home, "bin/python"), "-m", "schemathesis.cli"];
  if (existsSync(home)) return { command };
  const python = ["python3", "python"].find((name) => spawnSync(name, ["-c", PYTHON_IS_NEW_ENOUGH]).status === 0);
  if (python === undefined) return { skipped: "there is no Python 3.10 or later" };
  mkdirSync(cache, { recursive: true });
  // Under a temporary name first: a partial installation must not be taken for a complete one.
  const fresh = mkdtempSync(join(cache, "schemathesis-new-"));
  try {
    const steps = [
      [python, "-m", "venv", fresh],
      [join(fresh, "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"],
    ];
    steps[1]?.push(`schemathesis==${VERSION}`);
    for (const [program = "", ...args] of steps) {
      const { status, stderr } = spawnSync(program, args, { encoding: "utf8", timeout: INSTALL_TIMEOUT_MS });
      if (status !== 0) return { skipped: `it cannot be installed: ${stderr.trim().split("\n").at(-1) ?? ""}` };
    }
    if (!existsSync(home)) renameSync(fresh, home);
    return { command };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

const PYTHON_IS_NEW_ENOUGH = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/** Runs schemathesis against a service. Answers its exit code, 0 when every check held, and what it printed. */
export async function runSchemathesis(options: SchemathesisOptions): Promise<{ code: number | null; output: string }> {
  const { command, url, credential, ids, dir, args } = options;
  const config = join(dir, "schemathesis.toml");
  writeFileSync(config, `${readFileSync(base, "utf8")}\n${parameters(ids)}`);
  const [program = "", ...first] = command;
  // Speed is measured by the benchmarks. Two answers may wait on purpose: a synchronous run (5 s here) and a connection's check (5 s);
  // anything beyond half a minute is a request that hangs.
  const limits = "--request-timeout 30 --max-response-time 30";
  const fixed = `--checks all --continue-on-failure ${limits} --no-color --output-truncate true`.split(" ");
  const target = [`${url}/openapi.json`, "--header", `Authorization: Bearer ${credential}`];
  const all = [...first, "--config-file", config, "run", ...target, ...fixed, ...args];
  const env = { PATH: process.env["PATH"], HOME: dir, PYTHONDONTWRITEBYTECODE: "1", PYTHONUTF8: "1" };
  const child = spawn(program, all, { cwd: dir, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, output };
}

/** Real ids in most requests, so that they reach what lies behind the 404s; made-up ones in the others. */
function parameters(ids: KnownIds): string {
  const dictionaries = {
    org: [ids.org],
    project: ids.projects,
    flow: ids.flows,
    run: ids.runs,
    subscription: ids.subscriptions,
    delivery: ids.deliveries,
    disposable: ids.disposable,
    spare: ids.spare,
    node: ["doc-0"],
  };
  const uses = {
    project: ["path.project_id", "body.project_id", "body.flow_id"],
    run: ["path.run_id", "query.run_id"],
    org: ["path.org_id", "path.org", "query.org"],
    flow: ["path.flow_id", "path.flow", "query.flow_id"],
    subscription: ["path.subscription_id"],
    delivery: ["path.delivery_id"],
    node: ["path.node", "query.node_id"],
  };
  const use = (dictionary: string): string => `{ dictionary = "${dictionary}", probability = 0.8 }`;
  return [
    "[dictionaries]",
    ...Object.entries(dictionaries).map(([name, values]) => `${name} = { values = ${JSON.stringify(values)} }`),
    "[parameters]",
    ...Object.entries(uses).flatMap(([name, places]) => places.map((place) => `"${place}" = ${use(name)}`)),
    "[[operations]]",
    'include-operation-id = "deleteProject"',
    `parameters = { "path.project_id" = ${use("disposable")} }`,
    "[[operations]]",
    'include-operation-id = "deleteWebhookSubscription"',
    `parameters = { "path.subscription_id" = ${use("spare")} }`,
    "",
  ].join("\n");
}
