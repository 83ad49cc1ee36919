import { readFile } from "node:fs/promises";
import type { ApiClient } from "./api-client.ts";
import { CommandFailure } from "./failure.ts";
import { allNamed } from "./listing.ts";
import { parseExactJson } from "../domain/exact-json.ts";
import { isUuid } from "../domain/uuid.ts";

/** A flow as read from a file: checked by the API, not here. */
export type FlowFile = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly examples?: readonly { readonly name: string; readonly inputs: Readonly<Record<string, unknown>> }[];
};

interface Project {
  readonly project_id: string;
  readonly name: string;
}

/** Reads a flow file. Throws a CommandFailure that names the file. */
export async function readFlowFile(file: string): Promise<FlowFile> {
  let flow: unknown;
  try {
    flow = parseExactJson(await readFile(file, "utf8"));
  } catch (error) {
    throw new CommandFailure(`${file}: ${error instanceof Error ? error.message : String(error)}`, 2, { cause: error });
  }
  const name = typeof flow === "object" && flow !== null ? (flow as { name?: unknown }).name : undefined;
  if (typeof name !== "string") throw new CommandFailure(`${file} is not a flow: it has no name.`, 2);
  return flow as FlowFile;
}

/** Fields of a flow file that may contain a name, although the API expects an ID. */
export type Named = "project" | "knowledge_base";

const NAMED = {
  project: { type: "subflow", member: "project_id", path: "/v2/projects", noun: "project" },
  knowledge_base: {
    type: "knowledge",
    member: "knowledge_base_id",
    path: "/v2/knowledge-bases",
    noun: "knowledge base",
  },
} as const satisfies Record<Named, unknown>;

/** The names of one kind that nodes and tools refer to, at any depth. */
export function namesIn(flow: FlowFile, kind: Named): string[] {
  const names = new Set<string>();
  mapNames(flow, (name, found) => {
    if (found === kind) names.add(name);
    return name;
  });
  return [...names];
}

/** The flow with IDs instead of names. */
export function withIds(flow: FlowFile, idOf: (name: string, kind: Named) => string): FlowFile {
  return mapNames(flow, idOf) as FlowFile;
}

function mapNames(value: unknown, replace: (name: string, kind: Named) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => mapNames(item, replace));
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mapNames(member, replace)]));
  const kind = (Object.keys(NAMED) as Named[]).find((each) => NAMED[each].type === copy["type"]);
  if (kind === undefined) return copy;
  const { member } = NAMED[kind];
  const named = (place: Readonly<Record<string, unknown>> | undefined): string | null => {
    const name = place?.[member];
    return typeof name !== "string" || isUuid(name) ? null : replace(name, kind);
  };
  // Tools of models have the field directly, nodes have it in their configuration.
  const own = named(copy);
  if (own !== null) return { ...copy, [member]: own };
  const config = copy["config"] as Readonly<Record<string, unknown>> | undefined;
  const inside = named(config);
  return inside === null ? copy : { ...copy, config: { ...config, [member]: inside } };
}

/** The flow with the IDs of what it refers to by name. Throws a CommandFailure for an unknown name. */
export async function resolveNames(api: ApiClient, flow: FlowFile): Promise<FlowFile> {
  const ids = new Map<string, string>();
  for (const kind of Object.keys(NAMED) as Named[]) {
    for (const name of namesIn(flow, kind)) {
      const id = await findByName(api, kind, name);
      if (id === undefined) throw new CommandFailure(`No ${NAMED[kind].noun} is named ${name}.`);
      ids.set(`${kind} ${name}`, id);
    }
  }
  return withIds(flow, (name, kind) => ids.get(`${kind} ${name}`) ?? name);
}

/** The ID of the item with this name; undefined if there is none. Throws if several items have the name. */
export async function findByName(api: ApiClient, kind: Named, name: string): Promise<string | undefined> {
  const { path, member, noun } = NAMED[kind];
  const found = (await allNamed<Record<string, string>>(api, path, name)).map((each) => each[member] ?? "");
  if (found.length > 1) {
    throw new CommandFailure(`Several ${noun}s are named ${name}; pass the ID of one: ${found.join(", ")}`, 2);
  }
  return found[0];
}

/** Finds a project by its ID or its name; undefined if there is none. Throws if several projects have the name. */
export async function findProject(api: ApiClient, idOrName: string): Promise<Project | undefined> {
  const id = isUuid(idOrName) ? idOrName : await findByName(api, "project", idOrName);
  return id === undefined ? undefined : api.get<Project>(`/v2/projects/${id}`);
}

/** Finds a project that must exist. */
export async function requireProject(api: ApiClient, idOrName: string): Promise<Project> {
  const project = await findProject(api, idOrName);
  if (project === undefined) throw new CommandFailure(`Project ${idOrName} not found.`);
  return project;
}

/** The result of a deployment. */
export interface Deployment {
  readonly project_id: string;
  readonly version: number;
  /** False if the project already had a version with this content. */
  readonly created: boolean;
}

/** Deploys a flow as the published version of a project, which is created if it does not exist. */
export async function deployFlow(
  api: ApiClient,
  flow: FlowFile,
  project: string | undefined,
  name: string,
): Promise<Deployment> {
  if (project === undefined) {
    const { project_id } = await api.post<Project>("/v2/projects", { name, flow });
    return { project_id, version: 1, created: true };
  }
  const before = await api.get<{ latest_version: number }>(`/v2/projects/${project}`);
  const { version } = await api.post<{ version: number }>(`/v2/projects/${project}/versions`, { flow });
  return { project_id: project, version, created: version > before.latest_version };
}
