/** SQL for a time as JSON text in the format of every other time: Postgres itself would write microseconds and an offset. */
export function timeText(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
