import { Option, type Command } from "@commander-js/extra-typings";
import { FIRING_STATES } from "../../domain/triggers/firing.ts";
import { VERIFICATIONS } from "../../domain/triggers/trigger.ts";
import type { z } from "zod";
import type { createdTriggerSchema } from "../../api/triggers/triggers.ts";
import type { firingSchema } from "../../api/triggers/firings.ts";
import { CommandFailure } from "../failure.ts";
import { requireProject } from "../flow-file.ts";
import { addDelete, addList, newest, showTable } from "../listing.ts";
import { apiCommand, openApi, show } from "../options.ts";
import { collectPairs, readId, readNumber } from "../values.ts";

interface TypeOptions {
  readonly cron?: string;
  readonly timeZone?: string;
  readonly webhook?: string;
  readonly secret?: string;
  readonly changed?: string;
  readonly every?: number;
  readonly path?: string;
}

/** Only a newly created trigger has a URL. */
type Trigger = z.infer<typeof createdTriggerSchema>;

const PATH = "/v2/triggers";

/** `triggers create|list|delete|firings|repeat`. */
export function addTriggerCommands(program: Command): void {
  const triggers = program.command("triggers").description("start runs by schedule or event");

  apiCommand(triggers, "create", "create a trigger for a project's flow")
    .argument("<project>")
    .option("--cron <expression>", 'cron schedule, e.g. "0 9 * * mon-fri"')
    .option("--time-zone <zone>", "time zone of the schedule (default: UTC)")
    .addOption(
      new Option("--webhook <verification>", "on requests to the trigger's own URL, verified this way").choices(
        VERIFICATIONS,
      ),
    )
    .option("--secret <secret>", "the sender's signing secret")
    .option("--after <project>", "when a run of this project completes")
    .option("--changed <url>", "when the response of this URL changes")
    .option("--every <minutes>", "polling interval in minutes (default: 5)", readNumber(1, 1440))
    .option("--path <json_path>", "value of the response to compare, e.g. $.items[0].id")
    .option("--environment <name>", "environment whose version the runs use (default: production)")
    .option("--input <node=expression>", "input as a CEL expression over payload; repeatable", collectPairs, {})
    .action(async (project, options) => {
      const { api } = openApi(options);
      const after = options.after === undefined ? undefined : (await requireProject(api, options.after)).project_id;
      const trigger = await api.post<Trigger>(PATH, {
        project_id: (await requireProject(api, project)).project_id,
        ...typeOf(options, after),
        environment: options.environment,
        inputs: options.input,
      });
      show(options.json, trigger, () => [
        `${trigger.id}  ${trigger.trigger_id}`,
        ...(trigger.address == null ? [] : [`URL, shown only now: ${trigger.address}`]),
      ]);
    });

  addList<Trigger>(triggers, "triggers", PATH, {
    TRIGGER: ({ id }) => id,
    TYPE: ({ trigger_id }) => trigger_id,
    PROJECT: ({ project_id }) => project_id,
    ENVIRONMENT: ({ environment }) => environment,
    ENABLED: ({ enabled }) => (enabled ? "yes" : "no"),
    "LAST FIRED": ({ last_fired_at }) => last_fired_at ?? "never",
    "LAST ERROR": ({ last_error }) => oneLine(last_error),
  });
  addDelete(triggers, "a trigger", PATH);
  addFiringCommands(triggers);
}

type Firing = z.infer<typeof firingSchema>;

/** `triggers firings|repeat`. */
function addFiringCommands(triggers: Command): void {
  const trigger = readId("a trigger", "triggers list");
  apiCommand(triggers, "firings", "list the firings of a trigger, newest first")
    .argument("<trigger>", "which", trigger)
    .addOption(new Option("--state <state>", "only firings in this state").choices(FIRING_STATES))
    .action(async (id, options) => {
      const { api } = openApi(options);
      showTable(options.json, await newest<Firing>(api, `${PATH}/${id}/firings`, { state: options.state }), {
        FIRING: ({ firing_id }) => firing_id,
        AT: ({ created_at }) => created_at,
        STATE: ({ state }) => state,
        RUN: ({ run_state }) => run_state ?? "",
        ERROR: ({ error }) => oneLine(error),
      });
    });
  apiCommand(triggers, "repeat", "fire a trigger again with the payload of a firing")
    .argument("<trigger>", "trigger ID", trigger)
    .argument("<firing>", "firing ID", readId("a firing", "triggers firings"))
    .action(async (id, firing, options) => {
      const { api } = openApi(options);
      const started = await api.post<{ run_id: string }>(`${PATH}/${id}/firings/${firing}/repeat`, undefined);
      show(options.json, started, () => [`started run ${started.run_id}`]);
    });
}

/** An error as a cell of a table. */
function oneLine(error: string | null): string {
  return (error ?? "").replaceAll(/\p{Cc}/gu, " ").slice(0, 80);
}

/** Throws a CommandFailure unless exactly one type is requested. */
function typeOf(options: TypeOptions, after: string | undefined): object {
  const { cron, timeZone: time_zone, webhook: verification, secret, changed: url, every, path: json_path } = options;
  const types = [
    cron !== undefined && { provider_id: "millrace", trigger_id: "schedule", config: { cron, time_zone } },
    verification !== undefined && {
      provider_id: "millrace",
      trigger_id: "webhook",
      config: { verification, secret },
    },
    after !== undefined && {
      provider_id: "millrace",
      trigger_id: "run_event",
      config: { project_id: after },
    },
    url !== undefined && {
      provider_id: "http",
      trigger_id: "http.changed",
      config: { url, every_minutes: every, json_path },
    },
  ].filter((type) => type !== false);
  const [type, ...more] = types;
  if (type === undefined || more.length > 0)
    throw new CommandFailure("Pass one of --cron, --webhook, --after and --changed.", 2);
  return type;
}
