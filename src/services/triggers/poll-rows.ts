import { createHash } from "node:crypto";
import { uuidv7 } from "uuidv7";
import type { Json, JsonObject } from "../../domain/json.ts";
import { asText } from "../../domain/providers/action.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { createMaskValues } from "../../platform/logging/mask-values.ts";
import { queueFirings } from "../../stores/triggers/firings.ts";
import { lockTrigger, noteSeen, type TriggerOf } from "../../stores/triggers/triggers.ts";
import { rowsAsObjects, runRemoteSql } from "../providers/remote-postgres.ts";
import type { ConnectionResolver } from "../providers/resolve-connection.ts";
import { TriggerFault } from "./start-run.ts";
import type { Parts } from "../parts.ts";

/** Rows read by one query, plus all rows with the same value as the last one. */
const ROWS = 100;
const MAX_ROWS = 1000;
/** Most queries of one poll; further rows wait for the next poll. */
const ROUNDS = 10;
const STATEMENT_MS = 30_000;
/** Longest row (characters of JSON). */
const MAX_ROW_CHARS = 256 * 1024;
const VALUE = "millrace value";

export interface PollRowsDeps extends Parts<"db" | "sockets"> {
  readonly connections: ConnectionResolver;
}

/**
 * Looks for new rows. Each row queues a firing in the transaction that records the read position, so that no row is
 * missed or starts two runs. Throws TriggerFault and whatever the connection throws, with its secrets masked.
 */
export async function pollRows(
  deps: PollRowsDeps,
  trigger: TriggerOf<"postgres.new_rows">,
  signal: AbortSignal,
): Promise<void> {
  const { org_id, id, config, revision } = trigger;
  const { table, column } = config;
  // Qualified with the table, because the bare name would sort by the selected text, in which "9" is greater than "12".
  const name = `t.${quoted(column)}`;
  const connection = await deps.connections.resolve(org_id, config.connection_id);
  const { provider_id } = connection.provider;
  if (provider_id !== "postgres")
    throw new TriggerFault(
      `The connection "${connection.name}" must be of provider postgres; it is of ${provider_id}.`,
    );
  try {
    let { seen } = trigger;
    if (seen === null) {
      await note(null, [], await readLast());
      return;
    }
    let limit = ROWS;
    for (let round = 0; round < ROUNDS; round += 1) {
      const rows = await readNew(seen.value, limit);
      if (rows === null) {
        limit = Math.ceil(limit / 2);
        continue;
      }
      const value: Json = rows.at(-1)?.value ?? seen.value;
      if (!(await note(seen, rows, value)) || rows.length < limit) return;
      seen = { value };
    }
  } catch (error) {
    if (error instanceof Error) error.message = createMaskValues(connection.secrets)(error.message);
    throw error;
  }

  /** Records the read position and the firings. False if the trigger or its last value has changed meanwhile. */
  async function note(before: { readonly value: Json } | null, rows: readonly NewRow[], value: Json): Promise<boolean> {
    const checked_at = new Date().toISOString();
    return await deps.db.orgTransaction(org_id, async (db) => {
      const now = await lockTrigger(db, id);
      if (now?.enabled !== true || now.revision !== revision) return false;
      if (JSON.stringify(now.seen) !== JSON.stringify(before)) return false;
      const firings = rows.map(({ key, row, value: own_value }) => ({
        run_id: uuidv7(),
        org_id,
        trigger_id: id,
        key,
        depth: 0,
        payload: { table, value: own_value, row, checked_at },
      }));
      if (firings.length > 0) await queueFirings(db, firings);
      await noteSeen(db, id, value);
      return true;
    });
  }

  function ask(sql: string, params: readonly Json[]): ReturnType<typeof runRemoteSql> {
    const statement = { sql, params, maxRows: MAX_ROWS, statementMs: STATEMENT_MS };
    return runRemoteSql(deps.sockets, connection, statement, { writes: false, signal });
  }

  async function readLast(): Promise<Json> {
    const { rows } = await ask(
      `select ${name}::text from ${place(table)} t order by ${name} desc nulls last limit 1`,
      [],
    );
    return rows[0]?.[0] ?? null;
  }

  /** The next rows, about `limit`. Null if together they are too long for a result, so that fewer must be read. */
  async function readNew(after: Json, limit: number): Promise<NewRow[] | null> {
    const bound = after === null ? "" : `and ${name} > $1`;
    const sql = `select t.*, ${name}::text as ${quoted(VALUE)} from ${place(table)} t where ${name} is not null ${bound}
    order by ${name} fetch first ${limit} rows with ties`;
    const answer = await ask(sql, after === null ? [] : [after]).catch((error: unknown) => {
      if (limit > 1 && error instanceof NodeFailure && error.code === "value_too_large") return null;
      throw error;
    });
    if (answer === null) return null;
    if (answer.truncated) throw new TriggerFault(`More than ${MAX_ROWS} rows have the same value of ${column}.`);
    const times = new Map<string, number>();
    return rowsAsObjects(answer).map(({ [VALUE]: found, ...row }) => {
      const text = JSON.stringify(row);
      const value = asText(found);
      if (text.length > MAX_ROW_CHARS) {
        const message = `The row of ${column} ${value.slice(0, 100)} is longer than ${MAX_ROW_CHARS} characters: use a view that omits long columns.`;
        throw new TriggerFault(message);
      }
      // The count distinguishes rows that are otherwise equal.
      const same = createHash("sha256").update(`${value} ${text}`).digest("hex");
      const count = (times.get(same) ?? 0) + 1;
      times.set(same, count);
      return { key: `${value.slice(0, 200)} ${same} ${count}`, value, row };
    });
  }
}

interface NewRow {
  /** Identifies the row: the same for each read, and different from every other row's. */
  readonly key: string;
  readonly value: string;
  readonly row: JsonObject;
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const place = (table: string): string => table.split(".").map(quoted).join(".");
