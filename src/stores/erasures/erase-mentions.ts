import { storedTarget } from "../../domain/audit/audit.ts";
import { ERASED, type ErasureSlice } from "../../domain/erasures/erasure.ts";
import { UUID_PATTERN } from "../../domain/uuid.ts";
import type { Db } from "../db.ts";
import { LOWEST_ID } from "../keyset.ts";
import { addRemoved, type ErasureId, type OpenErasure } from "./erasures.ts";

/** Whether a text names something erased, ignoring case. $1 is the erasure. */
const names = (text: string): string => `exists (select from regexp_matches(${text}, '${UUID_PATTERN}', 'gi') as m
  join erasure_items i on i.erasure_id = $1::uuid and i.item_id = m[1]::uuid)`;

/** The user's ID as it appears inside a JSON string. */
const token = (userId: string): string => JSON.stringify(userId);

/**
 * Removes the events of erased runs and their deliveries from a page of the outbox, and notes the runs that triggers
 * have started or will start because of them. In a transaction. System only.
 */
export async function eraseEvents(
  db: Db,
  erasure: OpenErasure,
  after: string | null,
  limit: number,
): Promise<ErasureSlice> {
  const { erasure_id, org_id, user_id } = erasure;
  const page = await db.query<{ seq: number; event_id: string; erased: boolean }>(
    `select o.seq, o.event_id, i.item_id is not null as erased
      from (select seq, event_id, data ->> 'run_id' as run_id from outbox
        where org_id = $2::uuid and seq > $3::bigint order by seq limit $4::int) o
      left join erasure_items i on i.erasure_id = $1::uuid and i.kind = 'run' and i.item_id::text = o.run_id
      order by o.seq`,
    [erasure_id, org_id, after ?? "0", limit],
  );
  const events = page.filter(({ erased }) => erased).map(({ event_id }) => event_id);
  if (events.length > 0) {
    await db.query(
      `insert into erasure_items (erasure_id, org_id, kind, item_id, has_history)
        select $1::uuid, $2::uuid, 'run', f.run_id, true from trigger_firings f left join runs r on r.run_id = f.run_id
        where f.org_id = $2 and f.key = any ($3::uuid[]::text[]) and (r.user_id is null or r.user_id = $4::text)
        on conflict do nothing`,
      [erasure_id, org_id, events, user_id],
    );
    const webhook_deliveries = await db.count(
      "delete from webhook_deliveries where org_id = $1::uuid and event_id = any ($2::uuid[])",
      [org_id, events],
    );
    const of = "delete from outbox where org_id = $1::uuid and event_id = any ($2::uuid[])";
    await addRemoved(db, erasure_id, { webhook_deliveries, events: await db.count(of, [org_id, events]) });
  }
  const last = page.at(-1);
  return { after: last === undefined || page.length < limit ? null : String(last.seq), found: events.length };
}

/** A stored response whose body is a blob. */
export interface LongAnswer {
  readonly key: string;
  readonly blob: string;
}

/**
 * Removes the stored responses of a page that name something erased, and returns those whose text is in the blob store. Encrypted responses
 * show only secrets such as API keys. In a transaction. System only.
 */
export async function eraseAnswers(
  db: Db,
  { erasure_id, org_id, user_id, project_id }: OpenErasure,
  after: string | null,
  limit: number,
): Promise<ErasureSlice & { readonly long: readonly LongAnswer[] }> {
  const page = await db.query<{ key: string; blob: string | null; erased: boolean }>(
    `select k.key, k.response ->> 'blob' as blob,
        exists (select from erasure_items i where i.erasure_id = $1::uuid and i.item_id = k.resource_id)
        or ${names("k.response ->> 'body'")}
        or $5::text is not null and strpos(k.response ->> 'body', $5) > 0 as erased
      from (select key, resource_id, response from idempotency_keys where org_id = $2::uuid and key > $3::text
        order by key limit $4::int) k order by k.key`,
    [erasure_id, org_id, after ?? "", limit, project_id === null ? `"user_id":${token(user_id)}` : null],
  );
  const gone = page.filter(({ erased }) => erased).map(({ key }) => key);
  const removed = await removeAnswers(db, { erasure_id, org_id }, gone);
  const last = page.at(-1);
  return {
    after: last === undefined || page.length < limit ? null : last.key,
    found: removed,
    long: page.flatMap(({ key, blob, erased }) => (erased || blob === null ? [] : [{ key, blob }])),
  };
}

/** Removes stored responses, and notes their blobs for removal. */
export async function removeAnswers(
  db: Db,
  { erasure_id, org_id }: ErasureId,
  keys: readonly string[],
): Promise<number> {
  if (keys.length === 0) return 0;
  const idempotency_answers = await db.count(
    `with gone as (
        delete from idempotency_keys where org_id = $2::uuid and key = any ($3::text[]) returning response ->> 'blob' as blob),
      kept as (
        insert into erasure_blobs (erasure_id, org_id, key) select $1::uuid, $2, blob from gone where blob is not null
        on conflict do nothing)
      select from gone`,
    [erasure_id, org_id, keys],
  );
  await addRemoved(db, erasure_id, { idempotency_answers });
  return idempotency_answers;
}

/** Whether a text names something erased. System only. */
export async function namesErased(db: Db, erasureId: string, text: string): Promise<boolean> {
  return db.holds(`select ${names("$2::text")} as yes`, [erasureId, text]);
}

/** Operations with an end user as their target. In other operations a target of type `user` is a user of the console. */
const ON_END_USERS = "('changeConversation', 'deleteConversation', 'deleteDocuments')";

/**
 * The value of a changed filter before or after the change, without the user: the ID is replaced in `user_ids`; a filter that was cut to a
 * text is replaced as a whole.
 */
const FILTER_WITHOUT_USER = `case
  when jsonb_typeof(value -> 'user_ids') = 'array' then jsonb_set(value, '{user_ids}', (
    select coalesce(jsonb_agg(case when u = to_jsonb($5::text) then to_jsonb($8::text) else u end order by at), '[]')
    from jsonb_array_elements(value -> 'user_ids') with ordinality as ids (u, at)))
  when jsonb_typeof(value) = 'string' and strpos(split_part(value #>> '{}', '"user_ids":[', 2), $7::text) > 0 then to_jsonb($8::text)
  else value end`;

/**
 * Removes the user's values from a page of the audit log: the targets of operations on the user's own things, the users in a monitor's
 * filter, and the runs that scores and dataset rows were made from. Who did what, and when, is kept. In a transaction. System only.
 */
export async function eraseAuditValues(
  db: Db,
  { erasure_id, org_id, user_id, user_hash, project_id }: OpenErasure,
  after: string | null,
  limit: number,
): Promise<ErasureSlice> {
  await db.query("select set_config('millrace.erasing', 'on', true)");
  const user = project_id === null ? user_id : null;
  const { last, n, changed } = await db.one<{ last: string | null; n: number; changed: number }>(
    // In an erasure of one project the user's ID stays, because other projects have it, too. A deleted score is found by the run that its
    // audit entry names. The changed entries are passed as an array, because a join may read the whole log for each page.
    `with page as materialized (
        select entry_id, operation, target_type, target_id, changes from audit_log
        where org_id = $2::uuid and entry_id > $3::uuid order by entry_id limit $4::int),
      hit as materialized (
        select p.entry_id, p.target_id as old_target, p.changes as old_changes,
          case when p.target_type = 'user' and p.operation in ${ON_END_USERS} and p.target_id = $9::text then $6::text
            else p.target_id end as target_id,
          case
            when p.target_type = 'row' and ${names("p.target_id")} then '{}'::jsonb
            when p.target_type = 'score' and p.changes <> '{}' and exists (
                select from audit_log s where s.org_id = $2 and s.target_id = p.target_id and s.target_type = 'score'
                and ${names("concat_ws(' ', s.target_id, s.changes #>> '{run_id,before}', s.changes #>> '{run_id,after}')")})
              then '{}'
            when $5::text is not null and p.target_type = 'monitor' and jsonb_typeof(p.changes -> 'filter') = 'object'
              then p.changes || jsonb_build_object('filter', (
                select coalesce(jsonb_object_agg(side, ${FILTER_WITHOUT_USER}), '{}')
                from jsonb_each(p.changes -> 'filter') as sides (side, value)))
            else p.changes end as changes
        from page p),
      other as materialized (
        select entry_id, target_id, changes from hit where (target_id, changes) is distinct from (old_target, old_changes)),
      changed as (
        update audit_log a set target_id = other.target_id, changes = other.changes from other
        where a.entry_id = any (array(select entry_id from other)) and a.entry_id = other.entry_id
        returning 1)
      select (select entry_id from page order by entry_id desc limit 1) as last, (select count(*)::int from page) as n,
        (select count(*)::int from changed) as changed`,
    [
      erasure_id,
      org_id,
      after ?? LOWEST_ID,
      limit,
      user,
      user_hash,
      token(user_id),
      ERASED,
      user === null ? null : storedTarget(user),
    ],
  );
  await addRemoved(db, erasure_id, { audit_values: changed });
  return { after: n < limit ? null : last, found: changed };
}

/**
 * Replaces the user's id in filters of jobs, monitors and imports, and removes the values of erased runs from what
 * imports show. In a transaction. System only.
 */
export async function eraseSettings(db: Db, erasure: OpenErasure): Promise<number> {
  const { erasure_id, org_id, user_id, project_id } = erasure;
  const counts: Record<string, number> = {
    import_previews: await db.count(
      `update eval_imports e set preview = '[]', errors = '[]' where e.org_id = $2::uuid and e.finished_at is not null
        and (e.preview <> '[]' or e.errors <> '[]') and e.source ->> 'type' = 'runs' and ${names("concat(e.preview, e.errors)")}`,
      [erasure_id, org_id],
    ),
    run_job_errors: await db.count(
      `update run_jobs j set errors = '[]' where j.org_id = $2::uuid and j.errors <> '[]' and j.finished_at is not null
        and ${names("j.errors::text")}`,
      [erasure_id, org_id],
    ),
  };
  if (project_id === null) {
    counts["run_job_filters"] = await db.count(
      `update run_jobs set filter = jsonb_set(filter, '{user_id}', to_jsonb($3::text))
        where org_id = $1::uuid and filter ->> 'user_id' = $2::text and finished_at is not null`,
      [org_id, user_id, ERASED],
    );
    // A filter without its user would match more runs.
    counts["monitor_filters"] = await db.count(
      `update eval_monitors m set revision = revision + 1, filter = jsonb_set(filter, '{user_ids}', (
          select jsonb_agg(case when u = to_jsonb($2::text) then to_jsonb($3::text) else u end)
          from jsonb_array_elements(m.filter -> 'user_ids') as u))
        where org_id = $1::uuid and filter -> 'user_ids' @> to_jsonb($2::text)`,
      [org_id, user_id, ERASED],
    );
  }
  await addRemoved(db, erasure_id, counts);
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
