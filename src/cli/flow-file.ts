import { readFile } from "node:fs/promises";
import type { ApiClient } from "./api-client.ts";
import { CommandFailure } from "./failure.ts";
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
    flow = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CommandFailure(`${file}: ${error instanceof Error ? error.message : String(error)}`, 2, { cause: error });
  }
  const name = typeof flow === "object" && flow !== null ? (flow as { name?: unknown }).name : undefined;
  if (typeof name !== "string") throw new CommandFailure(`${file} is not a flow: it has no name.`, 2);
  return flow as FlowFile;
}

/** The `project_id` of every subflow node, at any depth, that is a name rather than an id. */
export function subflowNames(flow: FlowFile): string[] {
  const names = new Set<string>();
  mapSubflows(flow, (name) => {
    names.add(name);
    return name;
  });
  return [...names];
}

/** The flow with the names of subflow projects replaced by their ids. */
export function withProjectIds(flow: FlowFile, idOf: (name: string) => string): FlowFile {
  return mapSubflows(flow, idOf) as FlowFile;
}

function mapSubflows(value: unknown, replace: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => mapSubflows(item, replace));
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mapSubflows(member, replace)]));
  const config = copy["config"] as { project_id?: unknown } | undefined;
  if (copy["type"] !== "subflow" || typeof config?.project_id !== "string" || isUuid(config.project_id)) return copy;
  return { ...copy, config: { ...config, project_id: replace(config.project_id) } };
}

/** Finds a project by its id or its name; undefined when there is none. Throws when several have the name. */
export async function findProject(api: ApiClient, idOrName: string): Promise<Project | undefined> {
  if (isUuid(idOrName)) return api.get<Project>(`/v2/projects/${idOrName}`);
  const found: Project[] = [];
  let cursor: string | undefined;
  do {
    const page = await api.get<{ data: Project[]; cursor: string | null; has_more: boolean }>("/v2/projects", {
      page_size: 200,
      cursor,
    });
    found.push(...page.data.filter((project) => project.name === idOrName));
    cursor = page.has_more ? (page.cursor ?? undefined) : undefined;
  } while (cursor !== undefined);
  if (found.length > 1) {
    throw new CommandFailure(
      `Several projects are called ${idOrName}; name one by its id: ${found.map((each) => each.project_id).join(", ")}`,
      2,
    );
  }
  return found[0];
}

/** The same, for a project that must exist. */
export async function requireProject(api: ApiClient, idOrName: string): Promise<Project> {
  const project = await findProject(api, idOrName);
  if (project === undefined) throw new CommandFailure(`There is no project called ${idOrName}.`);
  return project;
}

/** The result of a deployment. */
export interface Deployment {
  readonly project_id: string;
  readonly version: number;
  /** False when the project had this very content as a version already. */
  readonly created: boolean;
}

/** Deploys a flow as the published version of a project, which is created when it is not there. */
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
