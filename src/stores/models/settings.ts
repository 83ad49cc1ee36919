import type { Db } from "../db.ts";

/** Defaults for nodes of the organisation. */
export interface OrganisationSettings {
  readonly default_connection_id: string | null;
  readonly default_model: string | null;
}

const NONE: OrganisationSettings = { default_connection_id: null, default_model: null };

const SELECT = "select default_connection_id, default_model from organisation_settings where org_id = current_org()";

export async function getSettings(db: Db): Promise<OrganisationSettings> {
  return (await db.first<OrganisationSettings>(SELECT)) ?? NONE;
}

/** The organisation's model defaults, locked until the transaction ends. */
export async function lockSettings(db: Db): Promise<OrganisationSettings> {
  await db.query("insert into organisation_settings (org_id) values (current_org()) on conflict (org_id) do nothing");
  return db.one(`${SELECT} for update`);
}

/** Call it only for locked settings. */
export async function updateSettings(db: Db, settings: OrganisationSettings): Promise<void> {
  await db.query(
    `update organisation_settings set default_connection_id = $1::uuid, default_model = $2::text, updated_at = now()
      where org_id = current_org()`,
    [settings.default_connection_id, settings.default_model],
  );
}
