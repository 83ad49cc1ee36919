import type { Command } from "@commander-js/extra-typings";
import type { presentEnvironment, presentReview } from "../../api/projects/environment-presenter.ts";
import type { ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { requireProject } from "../flow-file.ts";
import { showTable } from "../listing.ts";
import { apiCommand, openApi, show } from "../options.ts";
import { plainText } from "../terminal.ts";

type Environment = ReturnType<typeof presentEnvironment>;
type Review = ReturnType<typeof presentReview>;

/** `environments` and `promote`. */
export function addEnvironmentCommands(program: Command): void {
  apiCommand(program, "environments <project>", "list the environments of a project with their versions").action(
    async (name, options) => {
      const { api } = openApi(options);
      const { project_id } = await requireProject(api, name);
      showTable(options.json, await environmentsOf(api, project_id), {
        ENVIRONMENT: (each) => each.name,
        VERSION: ({ version }) => String(version ?? "-"),
        REVIEW: ({ requires_review }) => (requires_review ? "required" : "-"),
        PROMOTED: ({ promotion }) => promotion?.promoted_at ?? "-",
        BY: ({ promotion }) => plainText(promotion?.promoted_by_name ?? "-"),
        NOTES: ({ promotion }) => plainText(promotion?.notes ?? ""),
      });
    },
  );

  apiCommand(program, "promote <project>", "give an environment a version, or roll it back to the one before")
    .requiredOption("--to <environment>", "the environment, such as staging or production")
    .option("--version <number>", "the version; default: that of --from, or else the newest one")
    .option("--from <environment>", "promote the version that this environment has")
    .option(
      "--connection <id=id>",
      "replace a connection of the flow by another one; repeat it for several. Default: the environment keeps its connections",
      (value: string, before: readonly string[]) => [...before, value],
      [],
    )
    .option("--notes <text>", "why, for the history", "")
    .option("--propose", "let a second person approve it")
    .option("--rollback", "go back to what the environment had before")
    .option("--create", "create the environment if the project does not have it")
    .action(async (name, options) => {
      const { api } = openApi(options);
      const { project_id } = await requireProject(api, name);
      const environments = await environmentsOf(api, project_id);
      const before = environments.find((each) => each.name === options.to);
      if (before === undefined && options.create !== true) throw unknown(options.to, environments);
      const path = `/v2/projects/${project_id}/environments/${encodeURIComponent(options.to)}`;
      const { notes } = options;
      if (options.rollback === true) {
        const { version } = await api.post<Environment>(`${path}/rollback`, { notes });
        show(options.json, { project_id, environment: options.to, version }, () => [
          `${options.to} is back at version ${version}`,
        ]);
        return;
      }
      const version = await versionOf(api, project_id, options, environments);
      const body = { version, notes, ...connectionsOf(options.connection) };
      if (options.propose === true) {
        const review = await api.post<Review>(`${path}/reviews`, body);
        show(options.json, review, () => [`version ${version} waits for approval in ${options.to}`, review.review_id]);
        return;
      }
      const after = await api.put<Environment>(path, body);
      show(options.json, { project_id, ...after }, () => [
        `${options.to}: version ${before?.version ?? "none"} -> ${after.version}`,
      ]);
    });
}

async function environmentsOf(api: ApiClient, projectId: string): Promise<readonly Environment[]> {
  return (await api.get<{ data: Environment[] }>(`/v2/projects/${projectId}/environments`)).data;
}

async function versionOf(
  api: ApiClient,
  projectId: string,
  { version, from }: { readonly version?: string; readonly from?: string },
  environments: readonly Environment[],
): Promise<number> {
  if (version !== undefined && from !== undefined) throw new CommandFailure("Pass --version or --from, not both.", 2);
  if (version !== undefined) {
    if (!/^[1-9]\d{0,8}$/.test(version)) throw new CommandFailure("--version must be a whole number from 1.", 2);
    return Number(version);
  }
  if (from === undefined) {
    const project = await api.get<{ latest_version: number }>(`/v2/projects/${projectId}`);
    if (project.latest_version === 0)
      throw new CommandFailure("The project has no version yet. Run millrace deploy first.");
    return project.latest_version;
  }
  const source = environments.find(({ name }) => name === from) ?? undefined;
  if (source === undefined) throw unknown(from, environments);
  if (source.version === null) throw new CommandFailure(`The environment ${from} has no version yet.`);
  return source.version;
}

function connectionsOf(pairs: readonly string[]): { readonly connections?: Readonly<Record<string, string>> } {
  if (pairs.length === 0) return {};
  const entries = pairs.map((pair) => {
    const [from = "", to = "", ...more] = pair.split("=");
    if (from === "" || to === "" || more.length > 0)
      throw new CommandFailure("--connection must be two connection IDs: <of the flow>=<to use in its place>.", 2);
    return [from, to] as const;
  });
  return { connections: Object.fromEntries(entries) };
}

function unknown(name: string, environments: readonly Environment[]): CommandFailure {
  const known = environments.map((each) => each.name).join(", ");
  return new CommandFailure(`The project has no environment ${name}. It has ${known}.`);
}
