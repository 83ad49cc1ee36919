import type { Command } from "commander";
import { CommandFailure } from "./failure.ts";
import { deployFlow, findProject, readFlowFile, resolveNames } from "./flow-file.ts";
import { openApi, show, withApiOptions } from "./options.ts";
import type { ApiOptions } from "./options.ts";

interface Options extends ApiOptions {
  readonly json?: boolean;
  readonly project?: string;
}

interface FlowProblem {
  readonly severity: string;
  readonly node_path: string | null;
  readonly path: unknown;
  readonly message: string;
  readonly hint: string | null;
}

/** `deploy` and `validate`. */
export function addFlowCommands(program: Command): void {
  withApiOptions(
    program.command("deploy <flow.json>").description("deploy a flow as the published version of a project"),
  )
    .option("--project <name>", "name or id of the project; default: the flow's own name")
    .action(async (file: string, options: Options) => {
      const { api } = openApi(options);
      const flow = await readFlowFile(file);
      const name = options.project ?? flow.name;
      const resolved = await resolveNames(api, flow);
      const project = await findProject(api, name);
      const done = await deployFlow(api, resolved, project?.project_id, name);
      show(options.json, { ...done, name }, () => [
        `${name} version ${done.version}${done.created ? "" : " (unchanged)"}`,
        `project ${done.project_id}`,
      ]);
    });

  withApiOptions(
    program.command("validate <flow.json>").description("list every problem of a flow; nothing is stored"),
  ).action(async (file: string, options: Options) => {
    const { api } = openApi(options);
    const flow = await resolveNames(api, await readFlowFile(file));
    const report = await api.post<{ valid: boolean; problems: FlowProblem[] }>("/v2/flows/validate", { flow });
    show(options.json, report, () => [
      ...report.problems.map(
        ({ severity, node_path, path, message, hint }) =>
          `${severity}: ${[node_path ?? "", typeof path === "string" ? path : JSON.stringify(path)].filter(Boolean).join(" ")}: ${message}${hint ? ` (${hint})` : ""}`,
      ),
      report.valid ? `${file} is valid.` : `${file} is not valid.`,
    ]);
    if (!report.valid) throw new CommandFailure("");
  });
}
