import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "@commander-js/extra-typings";
import type { ErasureView } from "../../api/erasures/erasures.ts";
import { CommandFailure } from "../failure.ts";
import { requireProject } from "../flow-file.ts";
import { untilInterrupted, createProgress } from "../terminal.ts";
import { addList } from "../listing.ts";
import type { ApiClient } from "../api-client.ts";
import { apiCommand, openApi, show, table, type ApiOptions } from "../options.ts";
import { invocation } from "../shell.ts";
import { readId } from "../values.ts";

interface Options extends ApiOptions {
  readonly wait?: boolean;
}

const PATH = "/v2/erasures";
const WAIT = "wait until the erasure is complete";
/** Time between two polls of an erasure, which takes at least ten seconds, because for that long nothing new may be found. */
const LOOK_MS = 1000;

/** `erasures start|show|list`: erasure of all data of an end user. */
export function addErasureCommands(program: Command): void {
  const erasures = program.command("erasures").description("erase all data of an end user");
  apiCommand(erasures, "start", "erase all data of a user permanently")
    .argument("<user_id>", "the `user_id` of runs, documents and conversations; must match exactly")
    .option("--project <project>", "only in this project (name or ID); if omitted, in the whole organisation")
    .option("--yes", "required: erased data cannot be restored")
    .option("--wait", WAIT)
    .action(async (user_id, options) => {
      const { api } = openApi(options);
      const project = options.project === undefined ? null : await requireProject(api, options.project);
      if (options.yes !== true) {
        const where = project === null ? "in all projects" : `in the project ${project.name}`;
        throw new CommandFailure(
          `This permanently erases all data of the user ${user_id} ${where}. To confirm, repeat the command with --yes.`,
          2,
        );
      }
      const started = await api.post<ErasureView>(PATH, { user_id, project_id: project?.project_id ?? null });
      await report(api, started, options);
    });
  apiCommand(erasures, "show", "show what an erasure has erased and kept")
    .argument("<id>", "which", readId("an erasure", "erasures list"))
    .option("--wait", WAIT)
    .action(async (id, options) => {
      const { api } = openApi(options);
      await report(api, await api.get<ErasureView>(`${PATH}/${id}`), options);
    });
  addList<ErasureView>(erasures, "erasures", PATH, {
    ERASURE: ({ erasure_id }) => erasure_id,
    STATE: ({ state }) => state,
    PROJECT: ({ project_id }) => project_id ?? "all",
    CREATED: ({ created_at }) => created_at,
    FINISHED: ({ finished_at }) => finished_at ?? "",
  });
}

async function report(api: ApiClient, first: ErasureView, { json, wait }: Options): Promise<void> {
  const { erasure_id } = first;
  const again = `${invocation()} erasures show ${erasure_id}`;
  const last =
    wait === true
      ? await untilInterrupted(() => follow(api, first), `The erasure continues. Check it: ${again}`)
      : first;
  show(json, last, () => describe(last, again));
}

/** Waits until the erasure is done, and shows the progress on a terminal. */
async function follow(api: ApiClient, first: ErasureView): Promise<ErasureView> {
  const progress = createProgress();
  let erasure = first;
  while (erasure.finished_at === null) {
    progress.show(`${total(erasure).toLocaleString()} erased${erasure.problem === null ? "" : `; ${erasure.problem}`}`);
    await delay(LOOK_MS);
    erasure = await api.get<ErasureView>(`${PATH}/${erasure.erasure_id}`);
  }
  progress.end();
  return erasure;
}

const total = ({ removed }: ErasureView): number => Object.values(removed).reduce((sum, count) => sum + count, 0);

function describe(erasure: ErasureView, again: string): string[] {
  const { erasure_id, state, removed, left, problem, finished_at } = erasure;
  return [
    `erasure ${erasure_id}  ${state}`,
    ...(problem === null ? [] : [`currently: ${problem}`]),
    ...table([["REMOVED", "COUNT"], ...Object.entries(removed).map(([store, count]) => [store, String(count)])]),
    ...left.map(({ store, count, reason }) => `kept: ${count === null ? "" : `${count} of `}${store}, ${reason}`),
    ...(finished_at === null ? [`The erasure continues. Check it: ${again}`] : []),
  ];
}
