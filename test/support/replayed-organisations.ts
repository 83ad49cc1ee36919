const organisations: string[] = [];

/** Has the runs of an organisation on the shared service replayed after the test file (test/support/replay-runs.ts). */
export function replayAfterwards(orgId: string): void {
  organisations.push(orgId);
}

/** Returns the organisations of this test file, and forgets them: the next file may run in the same process. */
export function takeOrganisations(): string[] {
  return organisations.splice(0);
}
