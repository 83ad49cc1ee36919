export interface MadeOrganisation {
  readonly databaseUrl: string;
  readonly org_id: string;
  readonly secretKey: string;
}

const organisations: MadeOrganisation[] = [];

/** Notes an organisation of the present test file. */
export function noteOrganisation(organisation: MadeOrganisation): void {
  organisations.push(organisation);
}

/** Returns the organisations of this test file, and forgets them: the next file may run in the same process. */
export function takeMadeOrganisations(): MadeOrganisation[] {
  return organisations.splice(0);
}
