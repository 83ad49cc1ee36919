import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SHARE } from "../support/long.ts";
import { installPythonTool } from "../support/python-tool.ts";

const VERSION = "4.32.5";
const document = new URL("../../openapi.json", import.meta.url);
const base = new URL("./schemathesis.toml", import.meta.url);
const hooks = fileURLToPath(new URL("./schemathesis_hooks.py", import.meta.url));

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

/** The command that runs schemathesis, or why there is none. */
export function installSchemathesis(): { readonly command: readonly string[] } | { readonly skipped: string } {
  const installed = installPythonTool("schemathesis", VERSION);
  return "skipped" in installed ? installed : { command: [installed.python, "-m", "schemathesis.cli"] };
}

/** Runs schemathesis against a service. Answers its exit code, 0 when every check held, and what it printed. */
export async function runSchemathesis(options: SchemathesisOptions): Promise<{ code: number | null; output: string }> {
  const { command, url, credential, ids, dir, args } = options;
  const config = join(dir, "schemathesis.toml");
  writeFileSync(config, `hooks = ${JSON.stringify(hooks)}\n${readFileSync(base, "utf8")}\n${parameters(ids)}`);
  const [program = "", ...first] = command;
  // Speed is measured by the benchmarks. Two answers may wait on purpose: a synchronous run (5 s here) and a connection's check (5 s);
  // anything beyond half a minute is a request that hangs.
  const limits = "--request-timeout 30 --max-response-time 30";
  const fixed = `--checks all --continue-on-failure ${limits} --no-color --output-truncate true`.split(" ");
  const target = [`${url}/openapi.json`, "--header", `Authorization: Bearer ${credential}`];
  const all = [...first, "--config-file", config, "run", ...target, ...fixed, ...args];
  const python = { PYTHONDONTWRITEBYTECODE: "1", PYTHONUTF8: "1" };
  const env = { PATH: process.env["PATH"], HOME: dir, ...python, MILLRACE_LONG_SHARE: String(SHARE) };
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

/** Operations that refuse with 422 what fits their schema, because more than the shape of a request counts. */
const RULES_BEYOND_SCHEMA = new Set([
  // A flow is more than its schema: edges that lead somewhere, expressions that compile, no cycle.
  "createProject",
  "createFlowVersion",
  // A run's inputs depend on its flow; project_id and flow_id must agree; times must lie ahead; a pause must take the action;
  // a job that cancels runs has no version of a flow.
  "createRun",
  "createRunJob",
  "resumeRun",
  "runDeployedFlow",
  "streamDeployedFlow",
  "createApiKey",
  // `assignee=me` asks for a user, which an API key is not.
  "listPauses",
  // A receiver's address must be public, events and projects must be there, headers such as HTTP has, times such as are kept.
  "createWebhookSubscription",
  "changeWebhookSubscription",
  "listWebhookDeliveries",
  "replayWebhookEvents",
  // Sources need a connection that is there, recognition of characters its data, overlaps a longer chunk; a filter's fields
  // are those of the metadata schemas, as the metadata of a resource is, which is either a file, an address or a text.
  "createUser",
  "changeUser",
  // Not every address that the format allows is one that a user can have.
  "findProjectMemberCandidate",
  "createKnowledgeBase",
  "changeKnowledgeBase",
  "queryKnowledgeBase",
  "createKnowledgeBaseResources",
  "changeKnowledgeBaseResource",
  // What an evaluator's config may be depends on its type; a sample is written out or named. The schema of a dataset may
  // restrict its rows; a source is a text or an address; a monitor is held to limits, its statistics to a number of buckets.
  "createDataset",
  "changeDataset",
  "addDatasetRows",
  "changeDatasetRow",
  "createDatasetImport",
  "createEvaluator",
  "changeEvaluator",
  "previewEvaluator",
  "createExperiment",
  "changeExperiment",
  "createExperimentJob",
  "createMonitor",
  "changeMonitor",
  "changeMonitorAlert",
  "getMonitorScoreStats",
  // What a credential, an action's inputs and a trigger's config may be depends on the provider; skills and documents of OpenAPI
  // have a format of their own; a score's value is of its data_type, at a node of its run.
  "createConnection",
  "changeConnection",
  "changeSettings",
  // At most what the organisation has.
  "changeKeyQuotas",
  "changeRetention",
  "changeProjectRetention",
  "importProvider",
  "runAction",
  "createTrigger",
  "changeTrigger",
  "createSkill",
  "createSkillVersion",
  "createRunScore",
  "changeScore",
  "giveFeedback",
  // An offset beyond 2^53 - 1, which the document does not give as a bound.
  "getRunNodeValue",
  // The file's bytes decide: empty or not for this flow.
  "uploadDocument",
  "uploadDocumentOlderName",
]);

/** Operations that refuse with 400 what fits their schema, besides operations with a cursor. */
const BAD_REQUESTS = new Set([
  // RFC 6749: a wrong password or refresh token is a 400 invalid_grant.
  "createToken",
  // A version of the protocol that is not spoken must be a 400.
  "callMcp",
]);

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name?: string; readonly $ref?: string }[];
  readonly responses: Readonly<Record<string, unknown>>;
}

/**
 * The statuses each operation may answer a request that fits its schema: all it declares, because what is stored decides about the
 * others (404, 409, 410, 412 for an ETag, 416 for a range), but 400 and 422, which say that the request itself is wrong. A cursor is
 * opaque: only the server knows which ones it gave (400).
 */
function acceptance(): string[] {
  const { paths } = JSON.parse(readFileSync(document, "utf8")) as { paths: Record<string, Record<string, Operation>> };
  const operations = Object.values(paths).flatMap((path) =>
    Object.values(path).filter(({ operationId }) => operationId),
  );
  return operations.flatMap(({ operationId, parameters = [], responses }) => {
    const takesCursor = parameters.some(({ name, $ref }) => name === "cursor" || $ref?.endsWith("/cursor"));
    const mayAnswer = (status: string): boolean => {
      if (status === "400") return takesCursor || BAD_REQUESTS.has(operationId);
      return status !== "422" || RULES_BEYOND_SCHEMA.has(operationId);
    };
    const statuses = Object.keys(responses).filter((status) => status !== "500" && mayAnswer(status));
    return [
      "[[operations]]",
      `include-operation-id = "${operationId}"`,
      `checks.positive_data_acceptance.expected-statuses = ${JSON.stringify(statuses)}`,
    ];
  });
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
    ...acceptance(),
    "[[operations]]",
    'include-operation-id = "deleteProject"',
    `parameters = { "path.project_id" = ${use("disposable")} }`,
    "[[operations]]",
    'include-operation-id = "deleteWebhookSubscription"',
    `parameters = { "path.subscription_id" = ${use("spare")} }`,
    "",
  ].join("\n");
}
