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
