import { parseExactJson } from "../../domain/exact-json.ts";
import { Option, type Command } from "@commander-js/extra-typings";
import type { RunView } from "../../api/runs/run-presenter.ts";
import { RUN_STATES } from "../../domain/runs/run.ts";
import { ApiRefusal, type ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { requireProject } from "../flow-file.ts";
import { showTable } from "../listing.ts";
import { apiCommand, openApi, show } from "../options.ts";
import { describeNodes, describeRun, describeTimes, type RunWithNodes } from "../run-view.ts";
import { readId, readNumber } from "../values.ts";

const RUN = ["<run_id>", "run ID", readId("a run", "runs list")] as const;

/** `runs list|get|cancel|resume`. */
export function addRunsCommands(program: Command): void {
  const runs = program.command("runs").description("list, inspect, cancel and resume runs");

  apiCommand(runs, "list", "list runs, newest first")
    .option("--project <name>", "only runs of this project (name or ID)")
    .addOption(new Option("--state <state>", "only runs in this state").choices(RUN_STATES))
    .option("--limit <n>", "number of runs, up to 200", readNumber(1, 200), 20)
    .action(async (options) => {
      const { api } = openApi(options);
      const project_id =
        options.project === undefined ? undefined : (await requireProject(api, options.project)).project_id;
      const query = { project_id, state: options.state, page_size: options.limit };
      const page = await api.get<{ data: RunView[] }>("/v2/runs", query);
      const names = options.json === true ? new Map<string, string>() : await namesOf(api, page.data);
      showTable(options.json, page.data, {
        RUN: ({ run_id }) => run_id,
        STATE: ({ state }) => state,
        CREATED: ({ created_at }) => created_at,
        "DURATION MS": ({ latency_ms }) => String(latency_ms ?? ""),
        PROJECT: ({ project_id }) => names.get(project_id) ?? project_id,
      });
    });

  apiCommand(runs, "get", "show a run")
    .argument(...RUN)
    .option("--nodes", "print JSON that includes every node")
    .action(async (runId, options) => {
      const { api } = openApi(options);
      const withNodes = options.nodes === true || options.json !== true;
      const run = await api.get<RunWithNodes>(`/v2/runs/${runId}`, withNodes ? { expand: "nodes" } : {});
      show(options.json ?? options.nodes, run, () => [
        ...describeTimes(run),
        ...describeNodes(run),
        ...describeRun(run),
      ]);
    });

  apiCommand(runs, "cancel", "cancel a run")
    .argument(...RUN)
    .option("--reason <text>", "reason, stored with the run")
    .option("--terminate", "terminate now, without letting nodes clean up")
    .action(async (runId, options) => {
      const { api } = openApi(options);
      const run = await api.post<RunView>(`/v2/runs/${runId}/cancel`, {
        mode: options.terminate === true ? "terminate" : "graceful",
        reason: options.reason,
      });
      show(options.json, run, () => [`run ${run.run_id}: ${run.state}`]);
    });

  apiCommand(runs, "resume", "answer an approval, or resume a failed run")
    .argument(...RUN)
    .option("--pause <pause_id>", "ID of the pause, if several are open", readId("a pause", "runs get"))
    .option("--action <id>", "the action to choose")
    .option("--data <json>", "data for the approval's form, as JSON")
    .option("--comment <text>", "comment, stored with the answer")
    .option("--from <node_id|failed>", "for a failed or cancelled run: the node to resume from")
    .option("--from-node <node_id>", "for a finished run, including a completed one: the node to resume from")
    .action(async (runId, options) => {
      const { api } = openApi(options);
      const { pause: pause_id, action, comment, from, fromNode: from_node } = options;
      const answer = { pause_id, action, comment, from, from_node, data: parseData(options.data) };
      const run = await api.post<RunView>(`/v2/runs/${runId}/resume`, answer);
      show(options.json, run, () => [`run ${run.run_id}: ${run.state}`]);
    });
}

/** The names of the runs' projects; a deleted project has no name. */
async function namesOf(api: ApiClient, runs: readonly RunView[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const id of new Set(runs.map(({ project_id }) => project_id))) {
    const project = await api.get<{ name: string }>(`/v2/projects/${id}`).catch((error: unknown) => {
      if (error instanceof ApiRefusal && error.status === 404) return null;
      throw error;
    });
    if (project) names.set(id, project.name);
  }
  return names;
}

function parseData(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return parseExactJson(text);
  } catch {
    throw new CommandFailure("--data is not valid JSON.", 2);
  }
}
