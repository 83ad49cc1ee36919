import type { KeptRights, RightsThenAndNow } from "../../domain/accounts/kept-rights.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import type { TypedTrigger } from "../../domain/triggers/trigger.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import { jsonb } from "../jsonb.ts";
import { keysetSql, type Keyset } from "../keyset.ts";
import { ownerOfRights, PRESENT_RIGHTS } from "../rights.ts";
import { scheduleRevisions } from "../schedule-revisions.ts";
import type { Db } from "../db.ts";

/** A trigger without its secrets. */
export type TriggerRow = TriggerFields & TypedTrigger;

export type TriggerOf<Id extends TypedTrigger["trigger_id"]> = Extract<TriggerRow, { readonly trigger_id: Id }>;

const ROW = columns(`id uuid, org_id uuid, project_id uuid, environment text, provider_id text, trigger_id text,
  kind text, config jsonb, inputs jsonb, enabled boolean, secret bytea null, seen jsonb null, last_error text null,
  last_error_at timestamptz null, revision int, created_at timestamptz, updated_at timestamptz,
  deleted_at timestamptz null`);

interface TriggerFields extends RowOf<typeof ROW> {
  /** The environment whose version its runs execute. */
  readonly environment: string;
  /** Expressions keyed by the ID of an input node. */
  readonly inputs: Readonly<Record<string, string>>;
  readonly seen: { readonly value: Json } | null;
}

/** A trigger with the last run that it started. */
export type TriggerDetail = TriggerRow & {
  readonly last_run_id: string | null;
  readonly last_fired_at: string | null;
};

const NEW = columns(`id uuid, org_id uuid, project_id uuid, provider_id text, trigger_id text, kind text, config jsonb,
  inputs jsonb, enabled boolean, address_hash bytea, secret bytea, created_by uuid, rights jsonb, environment text`);

type NotInRows = "config" | "address_hash" | "created_by" | "rights";
export type NewTrigger = Pick<TriggerRow, Exclude<NameOf<typeof NEW>, NotInRows>> & {
  readonly config: JsonObject;
  readonly address_hash: Buffer | null;
  readonly created_by: string;
  readonly rights: KeptRights;
};

const COLUMNS = ROW.select("t");
/** Columns written when a trigger is deleted. */
const DELETED =
  "deleted_at = now(), enabled = false, secret = null, address_hash = null, revision = revision + 1, updated_at = now()";
const SHOWN = `${COLUMNS}, f.run_id as last_run_id, f.created_at as last_fired_at`;
/** Firings without a run are ignored: the run is started later, or could not be started for lack of capacity. */
const WITH_LAST = `left join lateral (
  select run_id, created_at from (select run_id, created_at from trigger_firings where trigger_id = t.id and state <> 'failed' order by created_at desc limit 20) l
  where exists (select from runs r where r.run_id = l.run_id) order by created_at desc limit 1) f on true`;

export async function insertTrigger(db: Db, trigger: NewTrigger): Promise<void> {
  await db.query(
    // The same request, repeated: no one has seen the URL of the first attempt.
    `insert into triggers ${NEW.into}
      on conflict (id) do update set address_hash = excluded.address_hash where triggers.deleted_at is null`,
    NEW.values(trigger),
  );
}

export async function findTrigger(db: Db, id: string): Promise<TriggerDetail | null> {
  return db.first(
    `select ${SHOWN} from triggers t ${WITH_LAST} where t.org_id = current_org() and t.id = $1::uuid and t.deleted_at is null`,
    [id],
  );
}

/** The trigger with this address. System only: the caller names no organisation. */
export async function findTriggerByAddress(db: Db, addressHash: Buffer): Promise<TriggerOf<"webhook"> | null> {
  return db.first(`select ${COLUMNS} from triggers t where t.address_hash = $1::bytea and t.deleted_at is null`, [
    addressHash,
  ]);
}

/** A page of the organisation's triggers, of one project or of all. */
export async function listTriggers(
  db: Db,
  projectId: string | null,
  page: Keyset,
  among: readonly string[] | undefined,
): Promise<TriggerDetail[]> {
  const { bound, compare, order } = keysetSql(page);
  const ofProject = projectId === null ? "" : "and project_id = $4::uuid";
  return db.query(
    `select ${SHOWN} from (select * from triggers where org_id = current_org() and deleted_at is null and id ${compare} $1::uuid
      and ($3::uuid[] is null or project_id = any ($3::uuid[])) ${ofProject} order by id ${order} limit $2::int) t ${WITH_LAST} order by t.id ${order}`,
    [bound, page.limit, among ?? null, ...(projectId === null ? [] : [projectId])],
  );
}

/** Locks a trigger until the transaction ends; null if there is none. */
export async function lockTrigger(db: Db, id: string): Promise<TriggerRow | null> {
  return db.first(
    `select ${COLUMNS} from triggers t where t.org_id = current_org() and t.id = $1::uuid and t.deleted_at is null for update`,
    [id],
  );
}

/** A trigger, deleted or not. */
export async function findAnyTrigger(db: Db, id: string): Promise<TriggerRow | null> {
  return db.first(`select ${COLUMNS} from triggers t where t.org_id = current_org() and t.id = $1::uuid`, [id]);
}

const CHANGED = columns("config jsonb, inputs jsonb, enabled boolean, secret bytea, seen jsonb, environment text");

/** Writes the changeable fields and the last seen value of a trigger. Clears its last error, which belongs to the earlier fields. */
export async function updateTrigger(
  db: Db,
  trigger: Pick<TriggerRow, "id" | "environment" | "inputs" | "enabled" | "secret" | "seen"> & {
    readonly config: JsonObject;
    /** `null` leaves the value unchanged. */
    readonly rights: KeptRights | null;
  },
): Promise<void> {
  await db.query(
    `update triggers set ${CHANGED.set(2)}, rights = coalesce($8::jsonb, rights), last_error = null, last_error_at = null,
        revision = revision + 1, updated_at = now()
      where org_id = current_org() and id = $1::uuid`,
    [trigger.id, ...CHANGED.values(trigger), trigger.rights && jsonb(trigger.rights)],
  );
}

/** Deletes a trigger for all later requests; its row is removed with its last firings. */
export async function markTriggerDeleted(db: Db, id: string): Promise<void> {
  await db.query(
    `update triggers set ${DELETED}
      where org_id = current_org() and id = $1::uuid and deleted_at is null`,
    [id],
  );
}

/** Records why a trigger has started no run. */
export async function noteTriggerError(db: Db, id: string, message: string): Promise<void> {
  await db.query("update triggers set last_error = $2::text, last_error_at = now() where id = $1::uuid", [
    id,
    message.slice(0, 1000),
  ]);
}

/** Clears the error after a run has started, unless a newer one was recorded meanwhile. */
export async function forgetTriggerError(
  db: Db,
  { id, last_error_at }: Pick<TriggerRow, "id" | "last_error_at">,
): Promise<void> {
  await db.query(
    // With the precision of the time it is compared with.
    `update triggers set last_error = null, last_error_at = null
      where id = $1::uuid and date_trunc('milliseconds', last_error_at) <= $2::timestamptz`,
    [id, last_error_at],
  );
}

/** Records what a poll has seen. */
export async function noteSeen(db: Db, id: string, value: Json): Promise<void> {
  await db.query("update triggers set seen = $2::jsonb, last_error = null, last_error_at = null where id = $1::uuid", [
    id,
    jsonb({ value }),
  ]);
}

export const triggerRevisions = scheduleRevisions("triggers", "id", "kind in ('schedule', 'poll')");

/** A page of triggers with a schedule in Temporal, by id, from `after` on, without refused schedules. System only. */
export async function scheduledTriggers(db: Db, after: string, limit: number): Promise<TriggerRow[]> {
  return db.query(
    `select ${COLUMNS} from triggers t where t.kind in ('schedule', 'poll') and t.deleted_at is null
      and t.refused_revision is distinct from t.revision and t.id > $1::uuid order by t.id limit $2::int`,
    [after, limit],
  );
}

/** Deletes the triggers of a project that the transaction has locked. */
export async function markTriggersOfProjectDeleted(db: Db, projectId: string): Promise<void> {
  await db.query(
    `update triggers set ${DELETED} where org_id = current_org() and project_id = $1::uuid and deleted_at is null`,
    [projectId],
  );
}

/** The triggers that use a connection. */
export async function triggersOfConnection(
  db: Db,
  connectionId: string,
  limit: number,
): Promise<Array<{ readonly id: string; readonly project_id: string }>> {
  return db.query(
    `select id, project_id from triggers where org_id = current_org() and deleted_at is null and config ? 'connection_id'
      and config->>'connection_id' = $1::text order by id limit $2::int`,
    [connectionId, limit],
  );
}

/** A trigger with the rights that it keeps. */
export type RunEventTrigger = TriggerOf<"run_event"> & RightsThenAndNow;

/** The enabled `run_event` triggers of some organisations. System only. */
export async function runEventTriggers(db: Db, orgIds: readonly string[]): Promise<RunEventTrigger[]> {
  return db.query(
    `select ${COLUMNS}, t.rights, ${PRESENT_RIGHTS} from triggers t ${ownerOfRights("t")}
      where t.org_id = any ($1::uuid[]) and t.kind = 'run_event' and t.enabled
      and t.deleted_at is null`,
    [orgIds],
  );
}
