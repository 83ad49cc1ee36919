import { createHash, randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { Config } from "../../config.ts";
import { keptRights } from "../../domain/accounts/kept-rights.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem, ValidationProblem, invalid, notFound, required } from "../../domain/errors.ts";
import type { JsonObject } from "../../domain/json.ts";
import { shortestInterval } from "../../domain/cron.ts";
import { mergePatch, type Patch } from "../../domain/patch.ts";
import { findTriggerType, type TriggerType } from "../../domain/triggers/trigger.ts";
import { unlessBroken, type SecretBox } from "../../platform/secrets/seal.ts";
import type { Db } from "../../stores/db.ts";
import { triggerScheduleId } from "../../temporal/ids.ts";
import { secretContext } from "../../stores/secrets/sealed.ts";
import * as triggers from "../../stores/triggers/triggers.ts";
import type { TriggerDetail, TriggerRow } from "../../stores/triggers/triggers.ts";
import { changeLocked } from "../change.ts";
import { inputsIn } from "../projects/called-flow.ts";
import { existsProject } from "../projects/projects.ts";
import { holdConnection } from "../providers/hold-connections.ts";
import { followSchedule, type ApplyDeps } from "../schedules/apply.ts";
import { outlookOfSchedule, type Outlook, type OutlookDeps } from "../schedules/outlook.ts";
import { triggerSchedules } from "./schedules.ts";
import { requireNamedEnvironment } from "../projects/environment-pointers.ts";
import { requireRoom } from "../require-room.ts";
import { recordCreated, recordDeleted, type RowAudit } from "../audit/audit.ts";
import type { Parts } from "../parts.ts";

const TOKEN_BYTES = 32;

export interface TriggerDeps extends ApplyDeps, Parts<"secrets" | "logger"> {
  readonly config: Pick<Config, "MILLRACE_TASK_QUEUE" | "MILLRACE_MAX_TRIGGERS" | "MILLRACE_MIN_SCHEDULE_SECONDS">;
}

export interface TriggerToCreate {
  readonly id: string;
  readonly org_id: string;
  readonly project_id: string;
  readonly environment: string;
  readonly type: TriggerType;
  /** The configuration, parsed by the type's schema. */
  readonly config: JsonObject;
  readonly inputs: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  /** The caller, whose rights the trigger keeps. */
  readonly setBy: Principal;
  /** Throws if a later attempt of the request has taken its Idempotency-Key. */
  readonly requireHeld: (db: Db) => Promise<void>;
  readonly audited: RowAudit<TriggerRow>;
}

export function hashAddress(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** The trigger with this ID. Throws 404. */
export async function requireTrigger(db: Db, id: string): Promise<TriggerDetail> {
  return required(await triggers.findTrigger(db, id), "trigger");
}

/**
 * Creates a trigger. For an inbound webhook, `token` is the unguessable part of its URL, which is not stored. Throws
 * 404, 422, and 409 if the organisation has the maximum number of triggers.
 */
export async function createTrigger(
  deps: TriggerDeps,
  wanted: TriggerToCreate,
): Promise<{ trigger: TriggerDetail; token: string | null }> {
  const { db, secrets } = deps;
  const { type, config: given, setBy, requireHeld, audited, ...own } = wanted;
  const { id, org_id, project_id, environment, inputs } = own;
  const { secret: asked, ...config } = given;
  const secret = sealed(secrets, id, asked);
  requireSecret(config, secret);
  requireSpacing(type.kind, config, deps.config.MILLRACE_MIN_SCHEDULE_SECONDS);
  const token = type.kind === "webhook" ? randomBytes(TOKEN_BYTES).toString("base64url") : null;
  const { provider_id, trigger_id, kind } = type;
  const trigger = await db.orgTransaction(org_id, async (connection) => {
    await requireHeld(connection);
    const address_hash = token === null ? null : hashAddress(token);
    const row = { ...own, provider_id, trigger_id, kind, config, secret, address_hash };
    if (!(await existsProject(connection, project_id))) throw notFound("project");
    await requireNamedEnvironment(connection, project_id, environment);
    await requireKnown(connection, type, config);
    await requireInputs(connection, row, inputs);
    await requireRoom(connection, "triggers", id, deps.config.MILLRACE_MAX_TRIGGERS);
    await triggers.insertTrigger(connection, { ...row, created_by: setBy.id, rights: keptRights(setBy) });
    // Checked again here, because only the new row prevents the project from being deleted.
    if (!(await existsProject(connection, project_id))) throw notFound("project");
    const created = await requireTrigger(connection, id);
    await recordCreated(connection, audited, created);
    return created;
  });
  await follow(deps, trigger);
  return { trigger: await db.org(org_id, (connection) => requireTrigger(connection, id)), token };
}

/**
 * The next times of a trigger's schedule, and warnings about it. Null if the trigger has no schedule, or Temporal
 * cannot be asked.
 */
export async function outlookOf(deps: OutlookDeps, { id, enabled, ...trigger }: TriggerRow): Promise<Outlook> {
  if (trigger.kind !== "schedule") return { next_times: null, warnings: [] };
  const { cron, time_zone } = trigger.config;
  return outlookOfSchedule(deps, { id: triggerScheduleId(id), cron, time_zone, paused: !enabled });
}

export interface TriggerChange {
  readonly config?: Patch<JsonObject> | undefined;
  readonly inputs?: Patch<Readonly<Record<string, string>>> | undefined;
  readonly enabled?: boolean | undefined;
  readonly environment?: string | undefined;
}

/**
 * Merges a change into a trigger. Calls `check` with the locked trigger before it changes anything, and `read` to parse
 * the complete changed configuration. Throws 404 and 422.
 */
export async function changeTrigger(
  deps: TriggerDeps,
  setBy: Principal,
  id: string,
  change: TriggerChange,
  read: (type: TriggerType, config: JsonObject) => JsonObject,
  check: (trigger: TriggerRow) => void,
  audited: RowAudit<TriggerRow>,
): Promise<TriggerDetail> {
  const changed = await changeLocked(deps.db, setBy.org_id, {
    audited,
    async lock(connection) {
      return required(await triggers.lockTrigger(connection, id), "trigger");
    },
    requireMatch: check,
    async write(connection, found) {
      const { config: given, enabled = found.enabled, environment = found.environment } = change;
      if (Object.values(change).every((member) => member === undefined)) return requireTrigger(connection, id);
      if (change.environment !== undefined) await requireNamedEnvironment(connection, found.project_id, environment);
      const before = found.config as JsonObject;
      const { secret: own } = found;
      const kept =
        own === null ? undefined : unlessBroken(() => deps.secrets.open(own, secretContext("triggers", id, "secret")));
      const { secret: asked, ...config } =
        given === undefined ? { ...before, secret: kept } : read(typeOf(found), merged(found, kept, given));
      const secret = asked === kept ? found.secret : sealed(deps.secrets, id, asked);
      requireSecret(config, secret);
      if (given !== undefined) {
        requireSpacing(found.kind, config, deps.config.MILLRACE_MIN_SCHEDULE_SECONDS);
        await requireKnown(connection, found, config);
      }
      const inputs = mergePatch(INPUTS, found.inputs, change.inputs ?? {}) as Record<string, string>;
      if (change.inputs !== undefined || change.environment !== undefined)
        await requireInputs(connection, { ...found, environment }, inputs);
      // With another URL or expression the last seen value is dropped, because it is not comparable with the next one.
      const seen = isDeepStrictEqual(watchedBy(before), watchedBy(config)) ? found.seen : null;
      const rights = given === undefined ? null : keptRights(setBy);
      await triggers.updateTrigger(connection, { id, config, inputs, enabled, secret, seen, rights, environment });
      return requireTrigger(connection, id);
    },
  });
  await follow(deps, changed);
  return await deps.db.org(setBy.org_id, (connection) => requireTrigger(connection, id));
}

const INPUTS = z.record(z.string(), z.string());

function typeOf({ provider_id, trigger_id }: TriggerRow): TriggerType {
  const type = findTriggerType(provider_id, trigger_id);
  if (type === undefined) throw new Error(`Trigger type ${provider_id}/${trigger_id} not found`);
  return type;
}

function merged(trigger: TriggerRow, secret: string | undefined, given: Patch<JsonObject>): JsonObject {
  const present = { ...trigger.config, ...(secret !== undefined && { secret }) };
  return mergePatch(typeOf(trigger).config, present, given) as JsonObject;
}

/** The part of the configuration that determines the watched value, without the interval. */
function watchedBy(config: JsonObject): JsonObject {
  return { ...config, every_minutes: null };
}

/** Deletes a trigger; it starts no further runs. Throws 404. */
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
 * Deletes the triggers of a project that the transaction has locked. Their schedules start nothing from then on, and
 * are removed soon afterwards.
 */
export const deleteTriggersOf = (db: Db, projectId: string): Promise<void> =>
  triggers.markTriggersOfProjectDeleted(db, projectId);

async function follow(deps: TriggerDeps, { org_id, id, kind }: Pick<TriggerRow, "org_id" | "id" | "kind">) {
  if (kind === "schedule" || kind === "poll") await followSchedule(deps, triggerSchedules(deps.config), { org_id, id });
}

/** Most triggers that a 409 lists. */
const MAX_LISTED = 100;

/** Throws 409 `in_use` if triggers use a connection that the transaction has locked for update. */
export async function refuseWhileTriggering(db: Db, connectionId: string): Promise<void> {
  const used_by = await triggers.triggersOfConnection(db, connectionId, MAX_LISTED);
  const [first] = used_by;
  if (first === undefined) return;
  const detail = `The trigger ${first.id} ${used_by.length > 1 ? "and others use" : "uses"} this connection. Change or delete it first.`;
  throw new Problem("in_use", detail, { extra: { used_by } });
}

function sealed(box: SecretBox, id: string, secret: unknown): Buffer | null {
  return typeof secret === "string" ? box.seal(secret, secretContext("triggers", id, "secret")) : null;
}

function requireSecret(config: JsonObject, secret: Buffer | null): void {
  if ((config["verification"] ?? "none") !== "none" && secret === null)
    throw invalid(["body", "config", "secret"], "Send the secret with which the sender signs", "missing");
}

function requireSpacing(kind: TriggerRow["kind"], { cron }: JsonObject, minSeconds: number): void {
  if (kind !== "schedule" || typeof cron !== "string" || shortestInterval(cron) >= minSeconds) return;
  const message = `Two times are less than ${minSeconds} seconds apart (MILLRACE_MIN_SCHEDULE_SECONDS)`;
  throw invalid(["body", "config", "cron"], message);
}

/** Requires that resources named in a configuration exist, because a trigger on runs of a missing project would never fire. */
async function requireKnown(
  db: Db,
  { provider_id }: Pick<TriggerRow, "provider_id">,
  { project_id, connection_id }: JsonObject,
): Promise<void> {
  if (typeof project_id === "string" && !(await existsProject(db, project_id)))
    throw invalid(["body", "config", "project_id"], "Project not found");
  if (typeof connection_id !== "string") return;
  const connection = await holdConnection(db, connection_id);
  if (connection === null) throw invalid(["body", "config", "connection_id"], "Connection not found");
  if (connection.provider_id !== provider_id) {
    const message = `A connection of provider ${provider_id} is required; this one is of ${connection.provider_id}`;
    throw invalid(["body", "config", "connection_id"], message);
  }
}

/** Requires the inputs of the published flow, if there is one, because with wrong ones each firing would fail. */
async function requireInputs(
  db: Db,
  { project_id: projectId, environment }: Pick<TriggerRow, "project_id" | "environment">,
  given: Readonly<Record<string, string>>,
): Promise<void> {
  const takenBy = await inputsIn(db, projectId, environment);
  if (takenBy === null) return;
  const { known, required } = takenBy;
  const issue = (name: string, msg: string, type: string) => ({ loc: ["body", "inputs", name], msg, type });
  const takes = known.length === 0 ? "the flow has no inputs" : `its inputs are ${known.slice(0, 20).join(", ")}`;
  const issues = [
    ...Object.keys(given)
      .filter((name) => !known.includes(name))
      .map((name) => issue(name, `The published flow does not have this input: ${takes}`, "unknown_input")),
    ...required
      .filter((name) => given[name] === undefined)
      .map((name) => issue(name, "The published flow requires this input", "missing")),
  ];
  if (issues.length > 0) throw new ValidationProblem(issues);
}
