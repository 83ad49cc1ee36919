const organisations: string[] = [];

/** Registers an organisation on the shared installation whose runs are replayed after the test file (test/support/replay-runs.ts). */
export function replayAfterwards(orgId: string): void {
  organisations.push(orgId);
}

/** Returns the organisations of this test file and clears the list, because the next file may run in the same process. */
export function takeOrganisations(): string[] {
  return organisations.splice(0);
}
