/**
 * A query of the keys of waiting rows, round robin by organisation: the first row of each organisation comes before the second row of any,
 * so that ten thousand rows of one do not delay the single row of another. `most` limits the rows per organisation.
 */
export function selectRoundRobin(rows: {
  readonly table: string;
  readonly key: string;
  readonly where: string;
  readonly order: string;
  /** An SQL expression. */
  readonly limit: string;
  readonly most?: number;
}): string {
  const { table, key, where, order, limit, most } = rows;
  return `select ${key} from (
      select ${key}, row_number() over (partition by org_id order by ${order}) as place from ${table} where ${where}
    ) as waiting ${most === undefined ? "" : `where place <= ${most} `}order by place, ${key} limit ${limit}`;
}

/** A round-robin query that locks the rows. Rows that another transaction has locked are skipped. */
export function lockRoundRobin(rows: Parameters<typeof selectRoundRobin>[0]): string {
  const { table, key, where } = rows;
  return `select ${key} from ${table} where ${key} in (${selectRoundRobin(rows)}) and ${where} for update skip locked`;
}

/**
 * A statement that takes up to `$2` rows that no process has checked for `$1` milliseconds, and returns these columns of each; the column
 * `checked` has the time of the last check.
 */
export function takeStale(rows: {
  readonly table: string;
  readonly key: string;
  readonly where: string;
  readonly checked?: string;
  readonly columns: readonly string[];
}): string {
  const { table, key, where, checked = "checked_at", columns } = rows;
  const isStale = `${checked} < now() - make_interval(secs => $1::float8 / 1000)`;
  const stale = lockRoundRobin({ table, key, where: `${where} and ${isStale}`, order: checked, limit: "$2::int" });
  return `update ${table} t set ${checked} = now() from (${stale}) d where t.${key} = d.${key}
    returning ${columns.map((column) => `t.${column}`).join(", ")}`;
}
