import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import type { ErasureView } from "../api/erasures/erasures.ts";
import { CommandFailure } from "./failure.ts";
import { requireProject } from "./flow-file.ts";
import { untilInterrupted } from "./interrupted.ts";
import { addList } from "./listing.ts";
import type { ApiClient } from "./api-client.ts";
import { openApi, show, table, withApiOptions } from "./options.ts";
import type { ApiOptions } from "./options.ts";
import { createProgress } from "./progress.ts";
import { invocation } from "./shell.ts";
import { readId } from "./values.ts";

interface Options extends ApiOptions {
  readonly wait?: boolean;
}

const PATH = "/v2/erasures";
const WAIT = "wait until it is done";
/** Between two looks at an erasure; it takes at least the ten seconds in which nothing more is found. */
const LOOK_MS = 1000;

/** `erasures start|show|list`: the removal of everything of an end user. */
export function addErasureCommands(program: Command): void {
  const erasures = program.command("erasures").description("remove everything of an end user");
  withApiOptions(
    erasures
      .command("start")
      .description("remove everything of a user, for good")
      .argument("<user_id>", "the `user_id` of runs, documents and conversations; compared exactly"),
  )
    .option("--project <project>", "in this project only (name or id); left out: in the whole organisation")
    .option("--yes", "needed: what is removed cannot be had back")
    .option("--wait", WAIT)
    .action(async (user_id: string, options: Options & { readonly project?: string; readonly yes?: boolean }) => {
      const { api } = openApi(options);
      const project = options.project === undefined ? null : await requireProject(api, options.project);
      if (options.yes !== true) {
        const where = project === null ? "in all projects" : `in the project ${project.name}`;
        throw new CommandFailure(
          `This removes everything of the user ${user_id} ${where}, for good. Repeat it with --yes.`,
          2,
        );
      }
      const started = await api.post<ErasureView>(PATH, { user_id, project_id: project?.project_id ?? null });
      await report(api, started, options);
    });
  withApiOptions(
    erasures
      .command("show")
      .description("what an erasure has removed, and what stays")
      .argument("<id>", "which", readId("an erasure", "erasures list")),
  )
    .option("--wait", WAIT)
    .action(async (id: string, options: Options) => {
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
      ? await untilInterrupted(() => follow(api, first), `The erasure goes on. Look at it: ${again}`)
      : first;
  show(json, last, () => describe(last, again));
}

/** Waits until it is done, and shows the progress on a terminal. */
async function follow(api: ApiClient, first: ErasureView): Promise<ErasureView> {
  const progress = createProgress();
  let erasure = first;
  while (erasure.finished_at === null) {
    progress.show(
      `${total(erasure).toLocaleString()} removed${erasure.problem === null ? "" : `; ${erasure.problem}`}`,
    );
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
    ...(problem === null ? [] : [`at present: ${problem}`]),
    ...table([["REMOVED", "COUNT"], ...Object.entries(removed).map(([store, count]) => [store, String(count)])]),
    ...left.map(({ store, count, reason }) => `stays: ${count === null ? "" : `${count} of `}${store}, ${reason}`),
    ...(finished_at === null ? [`It goes on. Look at it: ${again}`] : []),
  ];
}
