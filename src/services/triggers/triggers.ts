import { createHash, randomBytes } from "node:crypto";
import type { Config } from "../../config.ts";
import { invalid, notFound, Problem } from "../../domain/errors.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { TriggerType } from "../../domain/triggers/trigger.ts";
import type { Logger } from "../../platform/logging/logger.ts";
import type { SecretBox } from "../../platform/secrets/seal.ts";
import type { Db } from "../../stores/db.ts";
import * as triggers from "../../stores/triggers/triggers.ts";
import type { ShownTrigger, TriggerRow } from "../../stores/triggers/triggers.ts";
import { existsProject, requireProject } from "../projects/projects.ts";
import { holdConnection } from "../providers/hold-connection.ts";
import { applySchedule } from "./schedules.ts";
import type { ApplyDeps } from "./schedules.ts";

const TOKEN_BYTES = 32;

export interface TriggerDeps extends Omit<ApplyDeps, "config"> {
  readonly config: ApplyDeps["config"] & Pick<Config, "MILLRACE_MAX_TRIGGERS">;
  readonly secrets: SecretBox;
  readonly logger: Logger;
}

export interface TriggerToCreate {
  readonly id: string;
  readonly org_id: string;
  readonly project_id: string;
  readonly type: TriggerType;
  /** As the type's schema has it. */
  readonly config: JsonObject;
  readonly inputs: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  readonly created_by: string;
}

/** Where a trigger's secret belongs: at another one it cannot be opened. */
export const secretContext = (id: string): string => `triggers/${id}/secret`;

export function hashAddress(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Throws 404 where there is none. */
export async function requireTrigger(db: Db, id: string): Promise<ShownTrigger> {
  const trigger = await triggers.findTrigger(db, id);
  if (trigger === null) throw notFound("trigger");
  return trigger;
}

/**
 * Creates a trigger. Of an inbound webhook `token` is the unguessable part of its address, which is not kept. Throws 404, 422, and
 * 409 where the organisation has as many as it may.
 */
export async function createTrigger(
  deps: TriggerDeps,
  wanted: TriggerToCreate,
): Promise<{ trigger: ShownTrigger; token: string | null }> {
  const { db, secrets } = deps;
  const { id, org_id, project_id, type, inputs, enabled, created_by } = wanted;
  await requireProject(db, org_id, project_id, "project");
  const { secret: given, ...config } = wanted.config;
  const secret = sealed(secrets, id, given);
  requireSecret(config, secret);
  const token = type.kind === "webhook" ? randomBytes(TOKEN_BYTES).toString("base64url") : null;
  const { provider_id, trigger_id, kind } = type;
  const trigger = await db.orgTransaction(org_id, async (connection) => {
    const address_hash = token === null ? null : hashAddress(token);
    const row = {
      id,
      org_id,
      project_id,
      provider_id,
      trigger_id,
      kind,
      config,
      inputs,
      enabled,
      secret,
      address_hash,
    };
    await requireKnown(connection, type, config);
    await requireRoom(connection, id, deps.config.MILLRACE_MAX_TRIGGERS);
    await triggers.insertTrigger(connection, { ...row, created_by });
    return requireTrigger(connection, id);
  });
  await follow(deps, trigger);
  return { trigger, token };
}

export interface TriggerChange {
  readonly config?: JsonObject | undefined;
  readonly inputs?: Readonly<Record<string, string>> | undefined;
  readonly enabled?: boolean | undefined;
}

/**
 * Changes what is given; a secret stays where the new configuration names none. `check` is called with the trigger as it is,
 * locked, before. Throws 404 and 422.
 */
export async function changeTrigger(
  deps: TriggerDeps,
  orgId: string,
  id: string,
  check: (trigger: TriggerRow) => TriggerChange,
): Promise<ShownTrigger> {
  const changed = await deps.db.orgTransaction(orgId, async (connection) => {
    const found = await triggers.lockTrigger(connection, id);
    if (found === null) throw notFound("trigger");
    const { config: given, inputs, enabled } = check(found);
    if (given === undefined && inputs === undefined && enabled === undefined) return requireTrigger(connection, id);
    const { secret: newSecret, ...config } = given ?? found.config;
    const secret = newSecret === undefined ? found.secret : sealed(deps.secrets, id, newSecret);
    requireSecret(config, secret);
    if (given !== undefined) await requireKnown(connection, found, config);
    await triggers.updateTrigger(connection, {
      id,
      config,
      inputs: inputs ?? found.inputs,
      enabled: enabled ?? found.enabled,
      secret,
      // Another address, or another value in it, is not compared with what was seen before.
      seen: given === undefined ? found.seen : null,
    });
    return requireTrigger(connection, id);
  });
  await follow(deps, changed);
  return changed;
}

/** Deletes a trigger: nothing starts a run of it any more. Throws 404. */
export async function deleteTrigger(deps: TriggerDeps, orgId: string, id: string): Promise<void> {
  const kind = await deps.db.orgTransaction(orgId, async (connection) => {
    const trigger = await triggers.lockTrigger(connection, id);
    if (trigger === null) throw notFound("trigger");
    await triggers.markTriggerDeleted(connection, id);
    return trigger.kind;
  });
  await follow(deps, { org_id: orgId, id, kind });
}

/** Temporal's schedule is made to follow at once; where that fails, a worker does it. */
async function follow(deps: TriggerDeps, trigger: Pick<TriggerRow, "org_id" | "id" | "kind">): Promise<void> {
  if (trigger.kind !== "schedule" && trigger.kind !== "poll") return;
  await applySchedule(deps, trigger).catch((err: unknown) =>
    deps.logger.warn({ err, id: trigger.id }, "the schedule of a trigger is not applied yet"),
  );
}

function sealed(box: SecretBox, id: string, secret: unknown): Buffer | null {
  return typeof secret === "string" ? box.seal(secret, secretContext(id)) : null;
}

function requireSecret(config: JsonObject, secret: Buffer | null): void {
  if ((config["verification"] ?? "none") !== "none" && secret === null)
    throw invalid(["body", "config", "secret"], "The secret that the sender signs with is needed", "missing");
}

/** What a configuration names has to be there: a trigger that waits for another project's runs would wait for ever. */
async function requireKnown(
  db: Db,
  { provider_id }: Pick<TriggerRow, "provider_id">,
  { project_id, connection_id }: JsonObject,
): Promise<void> {
  if (typeof project_id === "string" && !(await existsProject(db, project_id)))
    throw invalid(["body", "config", "project_id"], "There is no such project");
  if (typeof connection_id !== "string") return;
  const connection = await holdConnection(db, connection_id);
  if (connection === null) throw invalid(["body", "config", "connection_id"], "There is no such connection");
  if (connection.provider_id !== provider_id) {
    const message = `A connection of provider ${provider_id} is needed; this one is of ${connection.provider_id}`;
    throw invalid(["body", "config", "connection_id"], message);
  }
}

async function requireRoom(db: Db, id: string, max: number): Promise<void> {
  if ((await triggers.countTriggers(db, id)) < max) return;
  throw new Problem("conflict", `The organisation has ${max} triggers, as many as it may. Delete one first.`);
}
