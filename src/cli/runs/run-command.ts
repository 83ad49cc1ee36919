import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { InvalidArgumentError, type Command } from "@commander-js/extra-typings";
import type { RunView } from "../../api/runs/run-presenter.ts";
import type { ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { requireProject } from "../flow-file.ts";
import { apiCommand, openApi, organisationOf, show } from "../options.ts";
import { describeRun, isFailure } from "../run-view.ts";
import { openUploadFile } from "../upload-file.ts";
import { invocation } from "../shell.ts";
import { readable, untilInterrupted } from "../terminal.ts";
import { collectPairs, collectPaths } from "../values.ts";

/** `run`: starts a run and prints its progress, node by node. */
export function addRunCommand(program: Command): void {
  apiCommand(program, "run <project>", "run a flow and follow it, node by node")
    .option("--input <node=text>", "value of an input; @path reads it from a file; repeatable", collectPairs, {})
    .option("--file <node=path>", "document to upload for the run; repeatable", collectPaths, [])
    .option("--user <user-conversation>", "`user_id` whose documents the run can read (generated with --file)")
    .option("--org <org_id>", "organisation of the documents (MILLRACE_ORG_ID, else .millrace/dev.json)")
    .option("--environment <name>", "environment whose version runs (default: production)")
    .option("--version <n>", "version of the flow; -1 is the published version", readVersion, -1)
    .action(async (name, options) => {
      // Reads all inputs first, so that a run is not started if one of them is missing.
      const inputs = await inputsOf(options.input);
      const files = await Promise.all(
        options.file.map(async ([node, path]) => [node, await openUploadFile(path)] as const),
      );
      const { api, dev } = openApi(options);
      const org = organisationOf(options.org, dev);
      if (files.length > 0 && org === undefined)
        throw new CommandFailure("No organisation: pass --org or set MILLRACE_ORG_ID.", 2);
      const { project_id } = await requireProject(api, name);
      const user = options.user ?? (files.length > 0 ? `cli-${randomBytes(4).toString("hex")}` : undefined);
      for (const [node, file] of files) {
        const query = { org, user_id: user, flow_id: project_id, node_id: node };
        const { filename, size } = await api.upload<{ filename: string; size: number }>(
          "/upload_to_storage_user",
          query,
          file,
        );
        console.error(readable(`uploaded ${filename} (${size} bytes) for ${node}`));
      }
      const started = await api.post<RunView>("/v2/runs", {
        project_id,
        version: options.version,
        environment: options.environment,
        inputs,
        user_id: user,
      });
      console.error(`run ${started.run_id}`);
      const again = `${invocation()} runs`;
      const run = await untilInterrupted(
        () => follow(api, started.run_id),
        `The run continues in the background. Check it: ${again} get ${started.run_id}\n      Cancel it: ${again} cancel ${started.run_id}`,
      );
      show(options.json, run, () => describeRun(run));
      if (isFailure(run)) throw new CommandFailure("");
    });
}

/** Prints one line per event until the run is terminal or paused; returns the run as it then is. */
async function follow(api: ApiClient, runId: string): Promise<RunView> {
  for await (const { event, data } of api.events(`/v2/runs/${runId}`)) {
    const line = describeEvent(event, data as Record<string, unknown>);
    if (line !== undefined) console.error(readable(line));
    if (event === "run.finished" || event === "run.paused") break;
  }
  return api.get<RunView>(`/v2/runs/${runId}`);
}

interface NodeEvent {
  readonly node_id?: string;
  readonly path?: string;
  readonly type?: string;
  readonly state?: string;
  readonly attempt?: number;
  readonly started_at?: string | null;
  readonly finished_at?: string | null;
  readonly error?: { readonly message?: string } | null;
}

function describeEvent(event: string, data: Record<string, unknown>): string | undefined {
  const node = ((data["data"] as NodeEvent | undefined) ?? data) as NodeEvent;
  const what = `${node.path ?? node.node_id ?? ""} (${node.type ?? "node"})`;
  const why = typeof node.error?.message === "string" ? `: ${node.error.message}` : "";
  switch (event) {
    case "node.started":
      return `  … ${what}`;
    case "node.retrying":
      return `  ↻ ${what}, attempt ${node.attempt ?? "?"} failed${why}`;
    case "node.finished": {
      const took =
        node.started_at && node.finished_at ? ` ${Date.parse(node.finished_at) - Date.parse(node.started_at)} ms` : "";
      const mark = node.state === "COMPLETED" ? "✓" : node.state === "SKIPPED" ? "–" : "✗";
      return `  ${mark} ${what}${node.state === "COMPLETED" ? "" : ` ${node.state?.toLowerCase() ?? ""}`}${took}${why}`;
    }
    default:
      return undefined;
  }
}

function readVersion(text: string): number {
  if (/^(-1|[1-9]\d{0,8})$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Pass a version number from 1, or -1 for the published version.");
}

async function inputsOf(options: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const entries = Object.entries(options).map(async ([node, text]) => {
    if (!text.startsWith("@")) return [node, text] as const;
    const content = await readFile(text.slice(1), "utf8").catch((error: Error) => {
      throw new CommandFailure(`--input ${node}: ${error.message}`, 2);
    });
    return [node, content] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
