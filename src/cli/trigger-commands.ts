import { Option } from "commander";
import type { Command } from "commander";
import { VERIFICATIONS } from "../domain/triggers/trigger.ts";
import type { z } from "zod";
import type { createdTriggerSchema } from "../api/triggers/trigger-presenter.ts";
import { CommandFailure } from "./failure.ts";
import { requireProject } from "./flow-file.ts";
import { addDelete, addList } from "./listing.ts";
import { openApi, show, withApiOptions } from "./options.ts";
import type { ApiOptions } from "./options.ts";
import { collectPairs, readNumber } from "./values.ts";

interface CreateOptions extends ApiOptions {
  readonly cron?: string;
  readonly timeZone?: string;
  readonly webhook?: string;
  readonly secret?: string;
  readonly after?: string;
  readonly changed?: string;
  readonly every?: number;
  readonly path?: string;
  readonly input: Readonly<Record<string, string>>;
}

/** Only one that has just been made has an address. */
type Trigger = z.infer<typeof createdTriggerSchema>;

const PATH = "/v2/triggers";

/** `triggers create|list|delete`. */
export function addTriggerCommands(program: Command): void {
  const triggers = program.command("triggers").description("start runs by schedule or event");

  withApiOptions(triggers.command("create").description("start runs of a project's flow").argument("<project>"))
    .option("--cron <expression>", 'at these times, e.g. "0 9 * * mon-fri"')
    .option("--time-zone <zone>", "of the times (default: UTC)")
    .addOption(new Option("--webhook <verification>", "by requests to an address").choices(VERIFICATIONS))
    .option("--secret <secret>", "that the sender signs with")
    .option("--after <project>", "when a run of this project has completed")
    .option("--changed <url>", "when this address answers something else")
    .option("--every <minutes>", "how often the address is asked (default: 5)", readNumber(1, 1440))
    .option("--path <json_path>", "which value of its answer is looked at, e.g. $.items[0].id")
    .option("--input <node=expression>", "CEL over payload; repeatable", collectPairs, {})
    .action(async (project: string, options: CreateOptions) => {
      const { api } = openApi(options);
      const after = options.after === undefined ? undefined : (await requireProject(api, options.after)).project_id;
      const trigger = await api.post<Trigger>(PATH, {
        project_id: (await requireProject(api, project)).project_id,
        ...typeOf(options, after),
        inputs: options.input,
      });
      show(options.json, trigger, () => [
        `${trigger.id}  ${trigger.trigger_id}`,
        ...(trigger.address == null ? [] : [`Address, shown only now: ${trigger.address}`]),
      ]);
    });

  addList<Trigger>(triggers, "triggers", PATH, {
    TRIGGER: ({ id }) => id,
    KIND: ({ trigger_id }) => trigger_id,
    PROJECT: ({ project_id }) => project_id,
    ENABLED: ({ enabled }) => (enabled ? "yes" : "no"),
    "LAST FIRED": ({ last_fired_at }) => last_fired_at ?? "never",
    "LAST ERROR": ({ last_error }) => (last_error ?? "").replaceAll(/\p{Cc}/gu, " ").slice(0, 80),
  });
  addDelete(triggers, "a trigger", PATH);
}

/** Throws a CommandFailure unless exactly one kind is asked for. */
function typeOf(options: CreateOptions, after: string | undefined): object {
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
    throw new CommandFailure("Give one of --cron, --webhook, --after and --changed.", 2);
  return type;
}
