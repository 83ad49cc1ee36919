import { createHash, randomBytes } from "node:crypto";
import type { Config } from "../../config.ts";
import { Problem, ValidationProblem, invalid, notFound, required } from "../../domain/errors.ts";
import type { JsonObject } from "../../domain/json.ts";
import { shortestInterval } from "../../domain/cron.ts";
import type { TriggerType } from "../../domain/triggers/trigger.ts";
import type { Logger } from "../../platform/logging/logger.ts";
import type { SecretBox } from "../../platform/secrets/seal.ts";
import type { Db } from "../../stores/db.ts";
import { triggerScheduleId } from "../../temporal/ids.ts";
import * as triggers from "../../stores/triggers/triggers.ts";
import type { TriggerDetail, TriggerRow } from "../../stores/triggers/triggers.ts";
import { changeLocked } from "../change.ts";
import { publishedInputs } from "../projects/flow-inputs.ts";
import { existsProject } from "../projects/projects.ts";
import { holdConnection } from "../providers/hold-connection.ts";
import { followSchedule } from "../schedules/apply.ts";
import type { ApplyDeps } from "../schedules/apply.ts";
import { outlookOfSchedule } from "../schedules/outlook.ts";
import type { Outlook, OutlookDeps } from "../schedules/outlook.ts";
import { triggerSchedules } from "./schedules.ts";
import { requireRoom } from "../require-room.ts";
import { recordDeleted } from "../audit/audit.ts";
import type { RowAudit } from "../audit/audit.ts";

const TOKEN_BYTES = 32;

export interface TriggerDeps extends ApplyDeps {
  readonly config: Pick<Config, "MILLRACE_TASK_QUEUE" | "MILLRACE_MAX_TRIGGERS" | "MILLRACE_MIN_SCHEDULE_SECONDS">;
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
  /** Throws if a later attempt has taken the request's Idempotency-Key. */
  readonly requireHeld: (db: Db) => Promise<void>;
  readonly audited: RowAudit<TriggerRow>;
}

/** Binds a secret to its trigger: it cannot be opened at another one. */
export const secretContext = (id: string): string => `triggers/${id}/secret`;

export function hashAddress(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Throws 404 where there is none. */
export async function requireTrigger(db: Db, id: string): Promise<TriggerDetail> {
  return required(await triggers.findTrigger(db, id), "trigger");
}

/**
 * Creates a trigger. For an inbound webhook, `token` is the unguessable part of its address, which is not stored.
 * Throws 404, 422, and 409 if the organisation has as many as it may.
 */
export async function createTrigger(
  deps: TriggerDeps,
  wanted: TriggerToCreate,
): Promise<{ trigger: TriggerDetail; token: string | null }> {
  const { db, secrets } = deps;
  const { id, org_id, project_id, type, inputs, enabled, created_by } = wanted;
  const { secret: given, ...config } = wanted.config;
  const secret = sealed(secrets, id, given);
  requireSecret(config, secret);
  requireSpacing(type.kind, config, deps.config.MILLRACE_MIN_SCHEDULE_SECONDS);
  const token = type.kind === "webhook" ? randomBytes(TOKEN_BYTES).toString("base64url") : null;
  const { provider_id, trigger_id, kind } = type;
  const trigger = await db.orgTransaction(org_id, async (connection) => {
    await wanted.requireHeld(connection);
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
    if (!(await existsProject(connection, project_id))) throw notFound("project");
    await requireKnown(connection, type, config);
    await requireInputs(connection, project_id, inputs);
    await requireRoom(connection, "triggers", id, deps.config.MILLRACE_MAX_TRIGGERS);
    await triggers.insertTrigger(connection, { ...row, created_by });
    // Checked again: the new row keeps the project from being deleted until the transaction ends.
    if (!(await existsProject(connection, project_id))) throw notFound("project");
    const created = await requireTrigger(connection, id);
    const { audit, view, ...named } = wanted.audited;
    await audit(connection, { ...named, after: view(created) });
    return created;
  });
  await follow(deps, trigger);
  return { trigger: await db.org(org_id, (connection) => requireTrigger(connection, id)), token };
}

/**
 * When a schedule is due next, and what in it may be a mistake. Null if the trigger has no schedule, or Temporal
 * cannot tell.
 */
export async function outlookOf(deps: OutlookDeps, { id, enabled, ...trigger }: TriggerRow): Promise<Outlook> {
  if (trigger.kind !== "schedule") return { next_times: null, warnings: [] };
  const { cron } = trigger.config;
  return outlookOfSchedule(deps, { id: triggerScheduleId(id), cron, paused: !enabled });
}

export interface TriggerChange {
  readonly config?: JsonObject | undefined;
  readonly inputs?: Readonly<Record<string, string>> | undefined;
  readonly enabled?: boolean | undefined;
}

/**
 * Changes the given members; the secret stays if the new configuration names none. Calls `check` with the locked
 * trigger, then `read`, which parses the change for that type. Throws 404 and 422.
 */
export async function changeTrigger(
  deps: TriggerDeps,
  orgId: string,
  id: string,
  read: (trigger: TriggerRow) => TriggerChange,
  check: (trigger: TriggerRow) => void,
  audited: RowAudit<TriggerRow>,
): Promise<TriggerDetail> {
  const changed = await changeLocked(deps.db, orgId, {
    audited,
    async lock(connection) {
      return required(await triggers.lockTrigger(connection, id), "trigger");
    },
    requireMatch: check,
    async write(connection, found) {
      const { config: given, inputs, enabled } = read(found);
      if (given === undefined && inputs === undefined && enabled === undefined) return requireTrigger(connection, id);
      const { secret: newSecret, ...config } = given ?? (found.config as JsonObject);
      const secret = newSecret === undefined ? found.secret : sealed(deps.secrets, id, newSecret);
      requireSecret(config, secret);
      if (given !== undefined) {
        requireSpacing(found.kind, config, deps.config.MILLRACE_MIN_SCHEDULE_SECONDS);
        await requireKnown(connection, found, config);
      }
      if (inputs !== undefined) await requireInputs(connection, found.project_id, inputs);
      await triggers.updateTrigger(connection, {
        id,
        config,
        inputs: inputs ?? found.inputs,
        enabled: enabled ?? found.enabled,
        secret,
        // With another address or expression, the next value is not compared with the earlier one.
        seen: given === undefined ? found.seen : null,
      });
      return requireTrigger(connection, id);
    },
  });
  await follow(deps, changed);
  return await deps.db.org(orgId, (connection) => requireTrigger(connection, id));
}

/** Deletes a trigger, which starts no more runs. Throws 404. */
export async function deleteTrigger(
  deps: TriggerDeps,
  orgId: string,
  id: string,
  audited: RowAudit<TriggerRow>,
): Promise<void> {
  const kind = await deps.db.orgTransaction(orgId, async (connection) => {
    const trigger = required(await triggers.lockTrigger(connection, id), "trigger");
    await triggers.markTriggerDeleted(connection, id);
    await recordDeleted(connection, audited, trigger);
    return trigger.kind;
  });
  await follow(deps, { org_id: orgId, id, kind });
}

/**
 * Deletes the triggers of a project that the transaction has locked. Their schedules find nothing to start, and are
 * removed soon after.
 */
export const deleteTriggersOf = (db: Db, projectId: string): Promise<void> =>
  triggers.markTriggersOfProjectDeleted(db, projectId);

async function follow(deps: TriggerDeps, { org_id, id, kind }: Pick<TriggerRow, "org_id" | "id" | "kind">) {
  if (kind === "schedule" || kind === "poll") await followSchedule(deps, triggerSchedules(deps.config), { org_id, id });
}

/** Triggers that a refusal lists. */
const MAX_LISTED = 100;

/** Throws 409 `in_use` if triggers use a connection that the transaction has locked for update. */
export async function refuseWhileTriggering(db: Db, connectionId: string): Promise<void> {
  const used_by = await triggers.triggersOfConnection(db, connectionId, MAX_LISTED);
  const [first] = used_by;
  if (first === undefined) return;
  const detail = `The trigger ${first.id} uses this connection${used_by.length > 1 ? ", and others do" : ""}. Change or delete that first.`;
  throw new Problem("in_use", detail, { extra: { used_by } });
}

function sealed(box: SecretBox, id: string, secret: unknown): Buffer | null {
  return typeof secret === "string" ? box.seal(secret, secretContext(id)) : null;
}

function requireSecret(config: JsonObject, secret: Buffer | null): void {
  if ((config["verification"] ?? "none") !== "none" && secret === null)
    throw invalid(["body", "config", "secret"], "The secret that the sender signs with is needed", "missing");
}

function requireSpacing(kind: TriggerRow["kind"], { cron }: JsonObject, minSeconds: number): void {
  if (kind !== "schedule" || typeof cron !== "string" || shortestInterval(cron) >= minSeconds) return;
  const message = `Two times are less than ${minSeconds} seconds apart (MILLRACE_MIN_SCHEDULE_SECONDS)`;
  throw invalid(["body", "config", "cron"], message);
}

/** What a configuration names must exist: a trigger on a missing project's runs would wait for ever. */
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

/** The inputs that the published flow takes and needs, if there is one: with others each firing would fail. */
async function requireInputs(db: Db, projectId: string, given: Readonly<Record<string, string>>): Promise<void> {
  const takenBy = await publishedInputs(db, projectId);
  if (takenBy === null) return;
  const { known, required } = takenBy;
  const issue = (name: string, msg: string, type: string) => ({ loc: ["body", "inputs", name], msg, type });
  const takes = known.length === 0 ? "it has none" : `it has ${known.slice(0, 20).join(", ")}`;
  const issues = [
    ...Object.keys(given)
      .filter((name) => !known.includes(name))
      .map((name) => issue(name, `The published flow has no such input: ${takes}`, "unknown_input")),
    ...required
      .filter((name) => given[name] === undefined)
      .map((name) => issue(name, "The published flow needs this input", "missing")),
  ];
  if (issues.length > 0) throw new ValidationProblem(issues);
}
