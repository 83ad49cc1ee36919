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

/** Those of the present test file. The next file, which may run in the same process, begins with none. */
export function takeMadeOrganisations(): MadeOrganisation[] {
  return organisations.splice(0);
}
