import { START_URGENCY, type StartInputs, type StartKind, type WantedStart } from "../../domain/starts.ts";
import { PRIORITY_KEYS } from "../../domain/urgency.ts";
import type { Database, Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { lockRoundRobin } from "../round-robin.ts";

/** The channel that announces wanted starts. */
const CHANNEL = "millrace_starts";

/** The rows whose work a kind of workflow does. */
interface Records {
  readonly table: string;
  readonly key: string;
  /** True for a row whose work is unfinished. */
  readonly where: string;
  /** The column with the time at which the row was last changed by its workflow, or checked. Default: `checked_at`. */
  readonly checked?: string;
  /** The columns of the workflow's input, besides the organisation and the key. */
  readonly columns: readonly string[];
}

const RECORDS = {
  resource: {
    table: "knowledge_resources",
    key: "resource_id",
    where: "status in ('pending', 'resource', 'parsed')",
    columns: ["knowledge_base_id", "revision"],
  },
  sync: {
    table: "knowledge_syncs",
    key: "sync_id",
    where: "state in ('pending', 'running')",
    columns: ["knowledge_base_id"],
  },
  import: {
    table: "eval_imports",
    key: "import_id",
    where: "status in ('pending', 'running')",
    columns: [],
  },
  experiment_job: {
    table: "experiment_jobs",
    key: "job_id",
    where: "state in ('pending', 'running')",
    columns: ["experiment_id", "kind", "cancel"],
  },
  run_job: {
    table: "run_jobs",
    key: "job_id",
    where: "state in ('PENDING', 'RUNNING')",
    columns: [],
  },
  erasure: {
    table: "erasures",
    key: "erasure_id",
    where: "finished_at is null",
    columns: [],
  },
  action_run: {
    table: "action_runs",
    key: "action_run_id",
    where: "finished_at is null",
    checked: "swept_at",
    columns: ["timeout_seconds"],
  },
} as const satisfies Record<StartKind, Records>;

export const START_KINDS = Object.keys(RECORDS) as StartKind[];

/**
 * Has workflows started soon, by any worker of the queue `background`. Call it in the transaction that writes the rows
 * of the work. A start that already waits gets the new input; the last one, if there are several for the same row.
 */
export async function wantStarts<Kind extends StartKind>(
  db: Db,
  kind: Kind,
  inputs: ReadonlyArray<StartInputs[Kind]>,
): Promise<void> {
  if (inputs.length === 0) return;
  await db.query(
    `with wanted as (
        insert into workflow_starts (kind, id, org_id, urgency, input)
          select distinct on (2) $1::text, (input->>$2::text)::uuid, current_org(), $3::smallint, input
            from jsonb_array_elements($4::jsonb) with ordinality as each (input, place) order by 2, place desc
        on conflict (id, kind) do update set input = excluded.input, due_at = now(), attempts = 0, last_error = null)
      select pg_notify('${CHANNEL}', '')`,
    [kind, RECORDS[kind].key, PRIORITY_KEYS[START_URGENCY[kind]], jsonb(inputs)],
  );
}

/** Listens for wanted starts until closed. Notifications are hints only: one may come twice or never. */
export function listenToStarts(db: Database, onWanted: () => void): { close(): Promise<void> } {
  return db.listen(CHANNEL, onWanted, onWanted);
}

const DUE = lockRoundRobin({
  table: "workflow_starts",
  key: "id",
  where: "due_at <= now()",
  order: "urgency, due_at",
  limit: "$1::int",
});

/** False if the work was finished or deleted since it was wanted. */
const UNFINISHED = `case kind ${Object.entries(RECORDS)
  .map(
    ([kind, { table, key, where }]) =>
      `when '${kind}' then exists (select from ${table} where ${key} = workflow_starts.id and ${where})`,
  )
  .join(" ")} end`;

export type DueStart = WantedStart & { readonly unfinished: boolean };

/**
 * Takes due starts, round robin by organisation. Each is due again later, in case the process dies before Temporal has
 * accepted it. System only.
 */
export async function takeStarts(db: Db, limit: number): Promise<DueStart[]> {
  return db.query(
    `update workflow_starts set attempts = attempts + 1,
        due_at = now() + least(interval '1 minute', interval '10 seconds' * 2 ^ least(attempts, 10))
      where id in (${DUE}) returning kind, input, ${UNFINISHED} as unfinished`,
    [limit],
  );
}

/** The rows of starts. One whose input was or is being replaced is left out, because it wants something else. */
const SAME = `select s.id, s.kind, t.error from workflow_starts s
  join jsonb_to_recordset($1::jsonb) as t (kind text, key text, input jsonb, error text)
    on s.kind = t.kind and s.id = (t.input->>t.key)::uuid and s.input = t.input
  for update of s skip locked`;

const withKeys = (starts: readonly WantedStart[]): string =>
  jsonb(starts.map((start) => ({ ...start, key: RECORDS[start.kind].key })));

/** Deletes starts that Temporal has accepted, or that are no longer wanted. System only. */
export async function deleteStarts(db: Db, accepted: readonly WantedStart[]): Promise<void> {
  await db.query(`delete from workflow_starts s using (${SAME}) t where s.id = t.id and s.kind = t.kind`, [
    withKeys(accepted),
  ]);
}

/** Records why starts have failed. They stay due. System only. */
export async function noteFailedStarts(
  db: Db,
  failed: ReadonlyArray<WantedStart & { readonly error: string }>,
): Promise<void> {
  await db.query(
    `update workflow_starts s set last_error = left(t.error, 1000) from (${SAME}) t where s.id = t.id and s.kind = t.kind`,
    [withKeys(failed)],
  );
}

/** How many starts wait, how many of them have failed, and the last error. System only. */
export async function countWaitingStarts(
  db: Db,
): Promise<{ readonly waiting: number; readonly failing: number; readonly last_error: string | null }> {
  return db.one(
    `select count(*)::int as waiting, count(last_error)::int as failing,
        (array_agg(last_error order by due_at desc) filter (where last_error is not null))[1] as last_error
      from workflow_starts`,
  );
}

/**
 * Has the workflows of up to `limit` unfinished rows started that nothing has changed or checked for `idleMs`, because
 * their workflow may be gone. Each row is found once per interval; returns how many. System only.
 */
export async function wantLost(db: Db, kind: StartKind, idleMs: number, limit: number): Promise<number> {
  const { table, key, where, checked = "checked_at", columns }: Records = RECORDS[kind];
  const idle = `${where} and ${checked} < now() - make_interval(secs => $1::float8 / 1000)`;
  const found = lockRoundRobin({ table, key, where: idle, order: checked, limit: "$2::int" });
  return db.count(
    `with lost as (
        update ${table} t set ${checked} = now() from (${found}) f where t.${key} = f.${key}
        returning ${["org_id", key, ...columns].map((column) => `t.${column}`).join(", ")})
      insert into workflow_starts (kind, id, org_id, urgency, input)
        select $3::text, ${key}, org_id, $4::smallint, to_jsonb(lost) from lost on conflict do nothing`,
    [idleMs, limit, kind, PRIORITY_KEYS[START_URGENCY[kind]]],
  );
}
