import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createKey, createOrganisation, createUser } from "../cli/accounts.ts";
import type { ApiClient } from "../cli/api-client.ts";
import { readState, writeState, type DevState } from "../cli/dev-state.ts";
import {
  deployFlow,
  findProject,
  namesIn,
  readFlowFile,
  withIds,
  type FlowFile,
  type Named,
} from "../cli/flow-file.ts";
import { provideKnowledgeBase } from "./example-knowledge.ts";
import { openUploadFile } from "../cli/upload-file.ts";
import { hashSecret } from "../platform/secrets/crypto.ts";
import { findApiKeyByHash } from "../stores/accounts/api-keys.ts";
import type { Database } from "../stores/db.ts";
import { findOrganisation } from "../stores/accounts/organisations.ts";

export type Accounts = Pick<DevState, "org_id" | "public_key" | "secret_key" | "admin_email" | "admin_password">;

/** Digests of what was last deployed and uploaded, so that unchanged files are not sent again. */
interface ExamplesState {
  readonly org_id: string;
  readonly flows: Readonly<
    Record<string, { readonly digest: string; readonly project_id: string; readonly version: number }>
  >;
  readonly documents: Readonly<Record<string, string>>;
}

/** The organisation `demo`, an admin and a key of each kind; reuses keys of the last start that are still valid. */
export async function ensureAccounts(
  database: Database,
  last: Partial<Accounts> | undefined,
): Promise<Accounts & { created: boolean }> {
  const known =
    last?.org_id === undefined ? null : await database.system((db) => findOrganisation(db, last.org_id ?? ""));
  const org_id = known?.org_id ?? (await createOrganisation(database, "demo")).org_id;
  const keep = known === null ? undefined : last;

  const key = async (kind: "public" | "secret", value: string | undefined): Promise<string> => {
    const found = value === undefined ? null : await database.system((db) => findApiKeyByHash(db, hashSecret(value)));
    if (value !== undefined && found !== null && found.revoked_at === null && found.org_id === org_id) return value;
    return (await createKey(database, { org_id, name: `demo ${kind}`, kind })).value;
  };
  const admin =
    keep?.admin_email === undefined || keep.admin_password === undefined
      ? // Contains the organisation's id: a user's database may hold an earlier demo.
        await createUser(database, { org_id, email: `admin@${org_id.slice(-12)}.demo.test`, role: "admin" })
      : { email: keep.admin_email, password: keep.admin_password };
  return {
    org_id,
    public_key: await key("public", keep?.public_key),
    secret_key: await key("secret", keep?.secret_key),
    admin_email: admin.email,
    admin_password: admin.password,
    created: known === null,
  };
}

/** The URL of `npm start` on its default port, which the example flows contain. */
const WRITTEN_WITH = "http://127.0.0.1:8080";

export interface ExamplesOptions {
  readonly api: ApiClient;
  /** The URL of this start, which example flows call. */
  readonly url: string;
  readonly org_id: string;
  /** Folder with `flows/`, `documents/` and `knowledge/`. */
  readonly examples: string;
  /** The file with the digests. */
  readonly stateFile: string;
}

/** A runnable example: the flow's first example input. */
export interface Example {
  readonly flow: FlowFile;
  readonly project_id: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** The flow's document node and the document that was uploaded to it. */
  readonly document?: { readonly node_id: string; readonly user_id: string; readonly file: string };
}

export interface DeployedExamples {
  /** Maps names to projects. */
  readonly projects: Readonly<Record<string, string>>;
  /** One line per flow or document that was sent. */
  readonly sent: readonly string[];
  /** The example to show: the first one that reads documents, otherwise the first. */
  readonly shown: Example | undefined;
}

/**
 * Deploys the flows of `examples/flows` and uploads `examples/documents` if they are new or changed. Flows that search knowledge bases are
 * deployed by deploySearchingExamples.
 */
export async function deployExamples(options: ExamplesOptions): Promise<DeployedExamples> {
  const { api, org_id, examples } = options;
  const saved = openState(options);
  const sent: string[] = [];

  const flows = inOrder((await readFlows(options)).filter((flow) => !searches(flow)));
  for (const file of flows) {
    const flow = withIds(file, (name) => saved.projectOf(name) ?? name);
    sent.push(...(await deployIfChanged(api, saved, flow)));
  }

  const candidates = flows.map((flow) => ({ flow, node: documentNode(flow), inputs: flow.examples?.[0]?.inputs }));
  const reader = candidates.find(({ node, inputs }) => node !== undefined && typeof inputs?.["user_id"] === "string");
  const first = reader ?? candidates.find(({ inputs }) => inputs !== undefined);
  const projects = projectsOf(flows, saved);
  if (first?.inputs === undefined) return { projects, sent, shown: undefined };
  const shown = { flow: first.flow, project_id: saved.projectOf(first.flow.name) ?? "", inputs: first.inputs };
  const user_id = first.inputs["user_id"];
  if (first.node === undefined || typeof user_id !== "string") return { projects, sent, shown };

  const node_id = first.node;
  const files = (await readdir(join(examples, "documents")))
    .toSorted()
    .map((name) => join(examples, "documents", name));
  for (const file of files) {
    const digest = sha256(
      Buffer.concat([Buffer.from(`${shown.project_id} ${node_id} ${user_id} `), await readFile(file)]),
    );
    if (saved.state().documents[file] === digest) continue;
    const query = { org: org_id, user_id, flow_id: shown.project_id, node_id };
    const { filename, size } = await api.upload<{ filename: string; size: number }>(
      "/upload_to_storage_user",
      query,
      await openUploadFile(file),
    );
    saved.save({ documents: { ...saved.state().documents, [file]: digest } });
    sent.push(`document ${filename}, ${size} bytes`);
  }
  const [file] = files;
  return { projects, sent, shown: file === undefined ? shown : { ...shown, document: { node_id, user_id, file } } };
}

/**
 * Deploys the flows that search, with the knowledge bases they name: `examples/knowledge` has a folder of documents for each. Call it when
 * the local model is available or has failed, because a knowledge base created earlier would not use the model.
 */
export async function deploySearchingExamples(
  options: ExamplesOptions,
): Promise<{ readonly projects: DeployedExamples["projects"]; readonly flows: readonly FlowFile[] }> {
  const { api, examples } = options;
  const saved = openState(options);
  const flows = inOrder((await readFlows(options)).filter(searches));
  const ids = new Map<string, string>();
  for (const name of new Set(flows.flatMap((flow) => namesIn(flow, "knowledge_base")))) {
    ids.set(name, await provideKnowledgeBase(api, join(examples, "knowledge", name), name));
  }
  for (const file of flows) {
    const idOf = (name: string, kind: Named): string | undefined =>
      kind === "project" ? saved.projectOf(name) : ids.get(name);
    const flow = withIds(file, (name, kind) => idOf(name, kind) ?? name);
    await deployIfChanged(api, saved, flow);
  }
  return { projects: projectsOf(flows, saved), flows };
}

function projectsOf(flows: readonly FlowFile[], saved: SavedState): DeployedExamples["projects"] {
  return Object.fromEntries(flows.map(({ name }) => [name, saved.projectOf(name) ?? ""]));
}

const searches = (flow: FlowFile): boolean => namesIn(flow, "knowledge_base").length > 0;

interface SavedState {
  state(): ExamplesState;
  /** The project of a deployed example. */
  projectOf(name: string): string | undefined;
  save(change: Partial<ExamplesState>): void;
}

function openState({ org_id, stateFile }: ExamplesOptions): SavedState {
  const last = readState<ExamplesState>(stateFile);
  let state: ExamplesState = last?.org_id === org_id ? last : { org_id, flows: {}, documents: {} };
  return {
    state: () => state,
    projectOf: (name) => state.flows[name]?.project_id,
    save(change) {
      state = { ...state, ...change };
      writeState(stateFile, state);
    },
  };
}

/** Deploys a flow that differs from the last deployed one; returns a message about it. */
async function deployIfChanged(api: ApiClient, { state, save }: SavedState, flow: FlowFile): Promise<string[]> {
  const digest = sha256(JSON.stringify(flow));
  const project = await findProject(api, flow.name);
  const before = state().flows[flow.name];
  if (project !== undefined && before?.digest === digest && before.project_id === project.project_id) return [];
  const { project_id, version } = await deployFlow(api, flow, project?.project_id, flow.name);
  save({ flows: { ...state().flows, [flow.name]: { digest, project_id, version } } });
  return [`flow ${flow.name}, version ${version}`];
}

/** The flows of `examples/flows`, with the actual URL in place of the default one. */
export async function readFlows({ examples, url }: Pick<ExamplesOptions, "examples" | "url">): Promise<FlowFile[]> {
  const folder = join(examples, "flows");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json")).toSorted();
  const flows = await Promise.all(names.map((name) => readFlowFile(join(folder, name))));
  return flows.map((flow) => JSON.parse(JSON.stringify(flow).replaceAll(WRITTEN_WITH, url)) as FlowFile);
}

/** Called flows before their callers, because a subflow node needs the ID of its project. */
function inOrder(flows: readonly FlowFile[]): FlowFile[] {
  const ordered = new Set<FlowFile>();
  const add = (flow: FlowFile, callers: readonly FlowFile[]): void => {
    if (callers.includes(flow))
      throw new Error(`The example flows call each other in a circle: ${callers.map((each) => each.name).join(" → ")}`);
    for (const name of namesIn(flow, "project")) {
      const called = flows.find((each) => each.name === name);
      if (called !== undefined) add(called, [...callers, flow]);
    }
    ordered.add(flow);
  };
  for (const flow of flows) add(flow, []);
  return [...ordered];
}

function documentNode(flow: FlowFile): string | undefined {
  const nodes = (flow["nodes"] ?? []) as readonly { id: string; type: string }[];
  return nodes.find((node) => node.type === "files")?.id;
}

const sha256 = (content: string | Buffer): string => createHash("sha256").update(content).digest("hex");
