import type { Command } from "commander";
import { loadConfig } from "../config.ts";
import type { withDeployment as withNamed } from "../services/system/deployment.ts";
import { CommandFailure } from "./failure.ts";
import { show, table, warnOfMistakes } from "./options.ts";
import { readNumber } from "./values.ts";

/** gRPC's codes for a build that Temporal does not know, and for one that lacks queues. */
const NOT_FOUND = 5;
const FAILED_PRECONDITION = 9;

type Work = Parameters<typeof withNamed<void>>[2];

interface Json {
  readonly json?: boolean;
}

/** `deployment`: which build new runs begin on. It asks Temporal itself, by the environment of an api or a worker. */
export function addDeploymentCommands(program: Command): void {
  const commands = program
    .command("deployment")
    .description("which build of the workers new runs begin on (by the environment of an api or a worker)");
  const command = (usage: string, description: string): Command =>
    commands.command(usage).description(description).option("--json", "print JSON");

  command("status", "list the builds: their state, who polls, which runs stay on them").action(({ json }: Json) =>
    withDeployment(async (deployment) => {
      const status = await deployment.status();
      if (!status) throw new CommandFailure("Temporal has no such deployment: no worker of it has polled yet.");
      show(json, status, () => [
        `${status.deployment}: new runs begin on ${status.current ?? "workers without a deployment"}`,
        ...(status.ramping ? [`and ${status.ramping.percentage} % of them on ${status.ramping.build_id}`] : []),
        ...table(
          status.builds.map(({ build_id, state, pollers, unpolled, pinned }) => [
            build_id,
            state,
            `${pollers} processes`,
            `${pinned} workflows`,
            pinned > 0 && unpolled.length > 0 ? "STRANDED: start its workers again, or move them" : "",
          ]),
        ),
      ]);
    }),
  );
  command("set-current <build>", "let new runs begin on a build").action((build: string, { json }: Json) =>
    withDeployment(async (deployment) => {
      await requirePolled(deployment, requireBuild(build));
      await deployment.setCurrent(build);
      show(json, { current: build }, () => [`new runs begin on ${build}`]);
    }),
  );
  command("ramp <build>", "let a part of the new runs begin on a build; 0 ends it")
    .requiredOption("--percentage <n>", "how many of a hundred", readNumber(0, 100))
    .action((build: string, { json, percentage }: Json & { readonly percentage: number }) =>
      withDeployment(async (deployment) => {
        if (percentage > 0) await requirePolled(deployment, requireBuild(build));
        await deployment.ramp(percentage === 0 ? null : build, percentage);
        show(json, { ramping: build, percentage }, () => [`${percentage} % of the new runs begin on ${build}`]);
      }),
    );
  command("unset", "let new runs begin on workers without a deployment again").action(({ json }: Json) =>
    withDeployment(async (deployment) => {
      await deployment.setCurrent(null);
      show(json, { current: null }, () => ["new runs begin on workers without a deployment"]);
    }),
  );
  command("move", "move runs under way to a build that can continue them")
    .requiredOption("--from <build>", "the build they are on")
    .requiredOption("--to <build>", "the build that continues them")
    .action(({ json, from, to }: Json & { readonly from: string; readonly to: string }) =>
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
  throw new CommandFailure(`${text} is not the id of a build.`, 2);
}

/** Temporal also accepts a build without workers, and runs on it would not progress. */
async function requirePolled(deployment: Parameters<Work>[0], build: string): Promise<void> {
  const status = await deployment.status();
  const unpolled = status?.builds.find(({ build_id }) => build_id === build)?.unpolled;
  if (unpolled?.length === 0) return;
  const missing = unpolled ? `nobody polls its ${unpolled.join(", ")}` : "no process of it has polled yet";
  throw new CommandFailure(`Build ${build} would let runs stand still: ${missing}. Start its api and workers first.`);
}

async function withDeployment(work: Work): Promise<void> {
  warnOfMistakes();
  const config = loadConfig();
  const name = config.MILLRACE_DEPLOYMENT;
  if (name === undefined) throw new CommandFailure("Set MILLRACE_DEPLOYMENT and MILLRACE_BUILD_ID.", 2);
  // Imported only here: Temporal's client takes as long to load as all the other commands together.
  const service = await import("../services/system/deployment.ts");
  try {
    await service.withDeployment(config, name, work);
  } catch (error) {
    const why = service.whyDenied(config, error);
    if (why) throw new CommandFailure(`Temporal at ${why.text}. ${why.advice}`);
    const { code, details } = error as { readonly code?: unknown; readonly details?: string };
    if (code !== NOT_FOUND && code !== FAILED_PRECONDITION) throw error;
    throw new CommandFailure(
      `Temporal refuses it: ${details}\nA build needs workers that poll every queue of the one before it.`,
    );
  }
}
