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

/** Fixed IDs for the requests of schemathesis; it generates all others or takes them from responses. */
export interface KnownIds {
  readonly org: string;
  readonly projects: readonly string[];
  readonly flows: readonly string[];
  readonly runs: readonly string[];
  readonly subscriptions: readonly string[];
  readonly deliveries: readonly string[];
  /** Projects that may be deleted. */
  readonly disposable: readonly string[];
  /** Webhooks that may be deleted. */
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

/** The command that runs schemathesis, or the reason why it is not available. */
export function installSchemathesis(): { readonly command: readonly string[] } | { readonly skipped: string } {
  const installed = installPythonTool("schemathesis", VERSION);
  return "skipped" in installed ? installed : { command: [installed.python, "-m", "schemathesis.cli"] };
}

/** Runs schemathesis against an installation; returns its output and exit code, 0 if all checks passed. */
export async function runSchemathesis(options: SchemathesisOptions): Promise<{ code: number | null; output: string }> {
  const { command, url, credential, ids, dir, args } = options;
  const config = join(dir, "schemathesis.toml");
  writeFileSync(config, `hooks = ${JSON.stringify(hooks)}\n${readFileSync(base, "utf8")}\n${parameters(ids)}`);
  const [program = "", ...first] = command;
  // Benchmarks measure speed. A synchronous run and a connection check may each wait 5 s on purpose; a request of more than 30 s hangs.
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

/** Operations that return 422 for bodies that match their schema, because further rules apply. */
const RULES_BEYOND_SCHEMA = new Set([
  // A flow also needs edges between existing nodes, expressions that compile, and no cycle.
  "createProject",
  "createFlowVersion",
  // The draft, which may be invalid, has to be valid to be described; a trigger's expressions must fit the payload of its test.
  "getIoSchema",
  "testTrigger",
  // Inputs must match the flow, project_id and flow_id must agree, times must be in the future, a pause must offer the
  // action, and a job that cancels runs takes no flow version.
  "createRun",
  "createRunJob",
  "resumeRun",
  "runDeployedFlow",
  "streamDeployedFlow",
  "createApiKey",
  // A chat needs a fitting flow, an end is in the future, and common passwords are rejected.
  "createPage",
  "changePage",
  // `assignee=me` needs a user, and an API key is not one.
  "listPauses",
  // A receiver's URL must be public, events and projects must exist, headers must be valid in HTTP, and times must be within retention.
  "createWebhookSubscription",
  "changeWebhookSubscription",
  "listWebhookDeliveries",
  "replayWebhookEvents",
  // Sources need an existing connection, text recognition needs its data, and an overlap must be shorter than the
  // chunk; filters and metadata may use only declared fields; a resource is a file, a URL or a text.
  "createUser",
  "changeUser",
  // The format allows e-mail addresses that no user can have.
  "findProjectMemberCandidate",
  "createKnowledgeBase",
  "changeKnowledgeBase",
  "queryKnowledgeBase",
  "createKnowledgeBaseResources",
  "changeKnowledgeBaseResource",
  // An evaluator's config depends on its type; a sample is inline or referenced. A dataset's schema may restrict its
  // rows; a source is a text or a URL; a monitor has limits, and its statistics a maximum number of buckets.
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
  // Credentials, action inputs and trigger configs depend on the provider; skills and OpenAPI documents have their own
  // formats; a score's value must match its data_type and a node of its run.
  "createConnection",
  "changeConnection",
  "changeSettings",
  // The value must not exceed the organisation's limit.
  "changeKeyQuotas",
  "changeRetention",
  "changeProjectRetention",
  "importProvider",
  "runAction",
  "createTrigger",
  "changeTrigger",
  // The connections must exist, and the promotion to repeat; production keeps its name.
  "promoteVersion",
  "proposePromotion",
  "rollBackEnvironment",
  "changeEnvironment",
  // An environment and a version cannot both be sent.
  "getSnippets",
  "createSkill",
  "createSkillVersion",
  "createRunScore",
  "changeScore",
  "giveFeedback",
  // An offset beyond 2^53 - 1, a bound that the document does not state.
  "getRunNodeValue",
  // Whether this flow accepts the file depends on whether its bytes are empty.
  "uploadDocument",
  "uploadDocumentOlderName",
]);

/** Operations that return 400 for bodies that match their schema, besides operations with a cursor. */
const BAD_REQUESTS = new Set([
  // RFC 6749: a wrong password or refresh token is a 400 invalid_grant.
  "createToken",
  // An unsupported protocol version must be a 400.
  "callMcp",
]);

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name?: string; readonly $ref?: string }[];
  readonly responses: Readonly<Record<string, unknown>>;
}

/**
 * The statuses that each operation may return for a request that matches its schema: all declared ones (404, 409, 410,
 * 412 and 416 depend on stored data), except 400 and 422, which mean an invalid request. Cursors are opaque, so only
 * the server knows valid ones (400).
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

/** Real IDs in most requests, so that they get past the 404s, and generated ones in the others. */
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
