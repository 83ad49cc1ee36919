/**
 * A query of the keys of waiting rows, round robin by organisation: the first of each before the second of any, so
 * that ten thousand rows of one do not delay the single row of another. `most`: per organisation.
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

/** The same with row locks. Rows that another transaction has locked are skipped. */
export function lockRoundRobin(rows: Parameters<typeof selectRoundRobin>[0]): string {
  const { table, key, where } = rows;
  return `select ${key} from ${table} where ${key} in (${selectRoundRobin(rows)}) and ${where} for update skip locked`;
}

/**
 * A statement that takes rows that nobody has looked after for `$1` milliseconds, at most `$2`, and returns these columns of each:
 * the column `checked` says when somebody last did.
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
