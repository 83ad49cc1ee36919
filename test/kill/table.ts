import { appendFileSync } from "node:fs";

/** One line of the table of what was killed and what came of it. */
export interface KillRow {
  readonly killed: string;
  readonly when: string;
  readonly runs: number;
  readonly outcome: string;
}

/** Adds a line to the file that MILLRACE_KILL_TABLE names, if it names one. */
export function tell(row: KillRow): void {
  const file = process.env["MILLRACE_KILL_TABLE"];
  if (file) appendFileSync(file, `| ${row.killed} | ${row.when} | ${row.runs} | ${row.outcome} |\n`);
}
