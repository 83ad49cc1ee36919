import type { Command } from "@commander-js/extra-typings";
import { loadConfig } from "../../config.ts";
import type { withDeployment as withNamed } from "../../services/system/deployment.ts";
import { CommandFailure } from "../failure.ts";
import { show, table, warnOfMistakes } from "../options.ts";
import { readNumber } from "../values.ts";

/** gRPC's codes for a build that Temporal does not know, and for a build that lacks queues. */
const NOT_FOUND = 5;
const FAILED_PRECONDITION = 9;

type Work = Parameters<typeof withNamed<void>>[2];

/** `deployment`: the build on which new runs start. It asks Temporal directly, with the environment of an api or a worker. */
export function addDeploymentCommands(program: Command): void {
  const commands = program
    .command("deployment")
    .description(
      "choose the worker build that new runs start on (settings come from the environment of an api or worker)",
    );
  const command = <Usage extends string>(usage: Usage, description: string) =>
    commands.command(usage).description(description).option("--json", "print JSON");

  command("status", "list the builds: state, polling processes and pinned runs").action(({ json }) =>
    withDeployment(async (deployment) => {
      const status = await deployment.status();
      if (!status)
        throw new CommandFailure("Temporal does not know this deployment: none of its workers has polled yet.");
      show(json, status, () => [
        `${status.deployment}: new runs start on ${status.current ?? "workers without a deployment"}`,
        ...(status.ramping ? [`and ${status.ramping.percentage} % of them on ${status.ramping.build_id}`] : []),
        ...table(
          status.builds.map(({ build_id, state, pollers, unpolled, pinned }) => [
            build_id,
            state,
            `${pollers} processes`,
            `${pinned} workflows`,
            pinned > 0 && unpolled.length > 0
              ? "STRANDED: start the workers of this build again, or move the runs"
              : "",
          ]),
        ),
      ]);
    }),
  );
  command("set-current <build>", "start new runs on a build").action((build, { json }) =>
    withDeployment(async (deployment) => {
      await requirePolled(deployment, requireBuild(build));
      await deployment.setCurrent(build);
      show(json, { current: build }, () => [`new runs start on ${build}`]);
    }),
  );
  command("ramp <build>", "send a percentage of new runs to a build; 0 stops")
    .requiredOption("--percentage <n>", "percentage of new runs (0–100)", readNumber(0, 100))
    .action((build, { json, percentage }) =>
      withDeployment(async (deployment) => {
        if (percentage > 0) await requirePolled(deployment, requireBuild(build));
        await deployment.ramp(percentage === 0 ? null : build, percentage);
        show(json, { ramping: build, percentage }, () => [`${percentage} % of new runs start on ${build}`]);
      }),
    );
  command("unset", "start new runs on workers without a deployment again").action(({ json }) =>
    withDeployment(async (deployment) => {
      await deployment.setCurrent(null);
      show(json, { current: null }, () => ["new runs start on workers without a deployment"]);
    }),
  );
  command("move", "move unfinished runs to a build that can continue them")
    .requiredOption("--from <build>", "build on which the runs are now")
    .requiredOption("--to <build>", "build that continues the runs")
    .action(({ json, from, to }) =>
      withDeployment(async (deployment) => {
        requireBuild(from);
        await requirePolled(deployment, requireBuild(to));
        const moved = await deployment.move(from, to);
        show(json, { moved }, () => [`${moved} moved from ${from} to ${to}`]);
      }),
    );
}

function requireBuild(text: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(text)) return text;
  throw new CommandFailure(`${text} is not a valid build ID.`, 2);
}

/** Temporal also accepts a build without workers, on which runs would make no progress. */
async function requirePolled(deployment: Parameters<Work>[0], build: string): Promise<void> {
  const status = await deployment.status();
  const unpolled = status?.builds.find(({ build_id }) => build_id === build)?.unpolled;
  if (unpolled?.length === 0) return;
  const missing = unpolled ? `no worker polls its ${unpolled.join(", ")}` : "none of its processes has polled yet";
  throw new CommandFailure(`Build ${build} cannot take runs: ${missing}. Start its api and workers first.`);
}

async function withDeployment(work: Work): Promise<void> {
  warnOfMistakes();
  const config = loadConfig();
  const name = config.MILLRACE_DEPLOYMENT;
  if (name === undefined) throw new CommandFailure("Set MILLRACE_DEPLOYMENT and MILLRACE_BUILD_ID.", 2);
  // Imported only here, because Temporal's client takes as long to load as all other commands together.
  const service = await import("../../services/system/deployment.ts");
  try {
    await service.withDeployment(config, name, work);
  } catch (error) {
    const why = service.whyDenied(config, error);
    if (why) throw new CommandFailure(`Temporal at ${why.text}. ${why.advice}`);
    const { code, details } = error as { readonly code?: unknown; readonly details?: string };
    if (code !== NOT_FOUND && code !== FAILED_PRECONDITION) throw error;
    throw new CommandFailure(
      `Temporal rejected the change: ${details}\nThe workers of a build must poll every queue of the previous build.`,
    );
  }
}
