import type { Db } from "../db.ts";

/** What an organisation's nodes use where they name nothing themselves. */
export interface OrganisationSettings {
  readonly default_connection_id: string | null;
  readonly default_model: string | null;
  /** Rises with each change; 0 where nothing was ever set. */
  readonly revision: number;
}

const NONE: OrganisationSettings = { default_connection_id: null, default_model: null, revision: 0 };

export async function getSettings(db: Db): Promise<OrganisationSettings> {
  const rows = await db.query<OrganisationSettings>(
    {
      name: "get_organisation_settings",
      text: "select default_connection_id, default_model, revision from organisation_settings where org_id = current_org()",
    },
    [],
  );
  return rows[0] ?? NONE;
}
