import type { JsonObject } from "../../domain/json.ts";
import { z } from "zod";
import { seesSecrets } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { jsonObjectSchema } from "../../domain/json-schema.ts";
import { asDeclared } from "../http/as-declared.ts";
import { TRIGGER_KINDS } from "../../domain/triggers/trigger.ts";
import { maskLiterals } from "../../platform/logging/literal-secrets.ts";
import type { TriggerDetail, TriggerRow } from "../../stores/triggers/triggers.ts";

const settingsSchema = z.object({
  id: z.uuid(),
  project_id: z.uuid(),
  environment: z.string().describe("The environment whose version and connections the runs use."),
  provider_id: z.string(),
  trigger_id: z.string(),
  kind: z.enum(TRIGGER_KINDS),
  config: jsonObjectSchema.describe("Settings of the trigger, without its secret."),
  inputs: z.record(z.string(), z.string()),
  enabled: z.boolean(),
});

export const triggerSchema = settingsSchema
  .extend({
    last_fired_at: z.iso.datetime().nullable(),
    last_run_id: z.uuid().nullable(),
    last_error: z.string().nullable().describe("Why it started no run the last time it fired."),
    last_error_at: z.iso.datetime().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "ProjectTrigger" });

export const triggerDetailSchema = triggerSchema
  .extend({
    next_times: z
      .array(z.iso.datetime())
      .nullable()
      .describe(
        "The next times a schedule fires, up to five. `null` for other triggers, or if Temporal does not report them.",
      ),
    warnings: z.array(z.string()).describe("Parts of the schedule that may not mean what the author intended."),
  })
  .meta({ id: "ProjectTriggerShown" });

export const createdTriggerSchema = triggerDetailSchema
  .extend({
    address: z.string().nullable().describe("URL of an inbound webhook. Copy it now. You cannot see it again."),
  })
  .meta({ id: "ProjectTriggerCreated" });

/** The settings of a trigger. */
export function presentTriggerSettings(trigger: Omit<TriggerRow, "secret">, reader: Principal) {
  const config = trigger.config as JsonObject;
  return asDeclared(settingsSchema, { ...trigger, config: seesSecrets(reader) ? config : maskLiterals(config) });
}

export function presentTrigger(trigger: TriggerDetail, reader: Principal): z.infer<typeof triggerSchema> {
  return asDeclared(triggerSchema, { ...trigger, ...presentTriggerSettings(trigger, reader) });
}
