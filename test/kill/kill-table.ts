import { appendFileSync } from "node:fs";

/** One line of the kill table: what was killed, when, and the outcome. */
export interface KillRow {
  readonly killed: string;
  readonly when: string;
  readonly runs: number;
  readonly outcome: string;
}

/** Appends a line to the file that MILLRACE_KILL_TABLE names, if it is set. */
export function recordKill(row: KillRow): void {
  const file = process.env["MILLRACE_KILL_TABLE"];
  if (file) appendFileSync(file, `| ${row.killed} | ${row.when} | ${row.runs} | ${row.outcome} |\n`);
}
