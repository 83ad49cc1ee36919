import type { Command } from "@commander-js/extra-typings";
import type { DocumentView } from "../../api/documents/documents.ts";
import type { FlowValidation } from "../../domain/flow/validate/validate.ts";
import type { presentProject } from "../../api/projects/projects.ts";
import { CommandFailure } from "../failure.ts";
import type { ApiClient } from "../api-client.ts";
import type { DevState } from "../dev-state.ts";
import { deployFlow, findProject, readFlowFile, requireProject, resolveNames } from "../flow-file.ts";
import { addDelete, addList, newest, showTable } from "../listing.ts";
import { addMemberCommands } from "./member-commands.ts";
import { apiCommand, openApi, organisationOf, show } from "../options.ts";
import { plainText } from "../terminal.ts";

type Project = ReturnType<typeof presentProject>;

/** `deploy`, `validate`, `projects list|delete` and `documents list|delete`. */
export function addFlowCommands(program: Command): void {
  apiCommand(program, "deploy <flow.json>", "deploy a flow as the published version of a project")
    .option("--project <name>", "name or ID of the project; default: the flow's name")
    .action(async (file, options) => {
      const { api } = openApi(options);
      const flow = await readFlowFile(file);
      const name = options.project ?? flow.name;
      const resolved = await resolveNames(api, flow);
      const project = await findProject(api, name);
      const done = await deployFlow(api, resolved, project?.project_id, name);
      const report = await api.post<FlowValidation>("/v2/flows/validate", {
        flow: resolved,
        project_id: done.project_id,
      });
      const warnings = report.problems.filter(({ severity }) => severity === "warning");
      show(options.json, { ...done, name, warnings }, () => [
        ...warnings.map(lineOf),
        `${name} version ${done.version}${done.created ? "" : " (unchanged)"}`,
        `project ${done.project_id}`,
      ]);
    });

  apiCommand(program, "validate <flow.json>", "list all problems of a flow without storing it").action(
    async (file, options) => {
      const { api } = openApi(options);
      const flow = await resolveNames(api, await readFlowFile(file));
      const report = await api.post<FlowValidation>("/v2/flows/validate", { flow });
      show(options.json, report, () => [
        ...report.problems.map(lineOf),
        report.valid ? `${file} is valid.` : `${file} is not valid.`,
      ]);
      if (!report.valid) throw new CommandFailure("");
    },
  );

  const projects = program.command("projects").description("manage projects");
  addList<Project>(projects, "projects", "/v2/projects", {
    PROJECT: ({ project_id }) => project_id,
    NAME: ({ name }) => plainText(name),
    VERSION: ({ published_version }) => String(published_version ?? "-"),
    CREATED: ({ created_at }) => created_at,
  });
  addDelete(projects, "a project", "/v2/projects");
  addMemberCommands(projects);

  const documents = program
    .command("documents")
    .description("manage documents uploaded for a `user_id` (`<user>-<conversation>`)");
  const ofHandle = <Name extends string>(name: Name, description: string) =>
    apiCommand(documents, name, description)
      .argument("<project>", "project name or ID")
      .argument("[node]", "ID of the document node", "doc-0")
      .requiredOption("--user <user-conversation>", "`user_id` of the documents")
      .option("--org <org_id>", "organisation of the documents (MILLRACE_ORG_ID, else .millrace/dev.json)");
  const pathOf = async (
    api: ApiClient,
    dev: DevState | undefined,
    of: [string, string],
    options: { org?: string; user: string },
  ) => {
    const org = organisationOf(options.org, dev);
    if (org === undefined) throw new CommandFailure("No organisation: pass --org or set MILLRACE_ORG_ID.", 2);
    const { project_id } = await requireProject(api, of[0]);
    return `/documents/${org}/${project_id}/${encodeURIComponent(of[1])}/${encodeURIComponent(options.user)}`;
  };
  ofHandle("list", "list the documents, newest first").action(async (project, node, options) => {
    const { api, dev } = openApi(options);
    const path = await pathOf(api, dev, [project, node], options);
    showTable(options.json, await newest<DocumentView>(api, path), {
      DOCUMENT: ({ file_id }) => file_id,
      STATUS: ({ status }) => status,
      BYTES: ({ size }) => String(size),
      UPLOADED: ({ created_at }) => created_at,
      NAME: ({ filename }) => plainText(filename),
    });
  });
  ofHandle("delete", "delete all documents, or one")
    .option("--name <filename>", "only the document with this name")
    .action(async (project, node, options) => {
      const { api, dev } = openApi(options);
      const path = await pathOf(api, dev, [project, node], options);
      await api.delete(path, { filename: options.name });
      show(options.json, { deleted: options.name ?? "*" }, () => [`deleted ${options.name ?? "all documents"}`]);
    });
}

function lineOf({ severity, node_path, path, message, hint }: FlowValidation["problems"][number]): string {
  const place = [node_path ?? "", typeof path === "string" ? path : JSON.stringify(path)].filter(Boolean).join(" ");
  return `${severity}: ${place}: ${message}${hint ? ` (${hint})` : ""}`;
}
