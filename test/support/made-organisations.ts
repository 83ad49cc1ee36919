export interface MadeOrganisation {
  readonly databaseUrl: string;
  readonly org_id: string;
  readonly secretKey: string;
}

const organisations: MadeOrganisation[] = [];

/** Records an organisation of the current test file. */
export function noteOrganisation(organisation: MadeOrganisation): void {
  organisations.push(organisation);
}

/** Returns the organisations of this test file and clears the list, because the next file may run in the same process. */
export function takeMadeOrganisations(): MadeOrganisation[] {
  return organisations.splice(0);
}
