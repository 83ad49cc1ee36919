const organisations: string[] = [];

/** Has the runs of an organisation on the shared service replayed after the test file (test/support/replay-runs.ts). */
export function replayAfterwards(orgId: string): void {
  organisations.push(orgId);
}

/** Those of the present test file. The next file, which may run in the same process, begins with none. */
export function takeOrganisations(): string[] {
  return organisations.splice(0);
}
