import { invalid } from "../../domain/errors.ts";
import type { Database } from "../../stores/db.ts";
import { lockSettings, updateSettings, type OrganisationSettings } from "../../stores/models/settings.ts";
import { changeLocked, type Given } from "../change.ts";
import { requireConnection } from "../providers/connections.ts";
import type { RowAudit } from "../audit/audit.ts";

/** The providers whose connections give access to models. */
const MODEL_PROVIDERS: readonly string[] = ["openai_compatible", "anthropic"];

/**
 * Changes an organisation's settings. Calls `check` with the locked settings before it changes anything. Throws 404
 * and 422.
 */
export async function changeSettings(
  db: Database,
  orgId: string,
  change: Given<OrganisationSettings>,
  check: (settings: OrganisationSettings) => void,
  audited: RowAudit<OrganisationSettings>,
): Promise<OrganisationSettings> {
  return await changeLocked(db, orgId, {
    audited,
    lock: lockSettings,
    requireMatch: check,
    async write(connected, found) {
      const { default_connection_id = found.default_connection_id, default_model = found.default_model } = change;
      if (default_connection_id !== null) {
        const { provider_id } = await requireConnection(connected, default_connection_id);
        if (!MODEL_PROVIDERS.includes(provider_id)) {
          const message = `A connection of ${provider_id} has no models: use a connection of ${MODEL_PROVIDERS.join(" or ")}`;
          throw invalid(["body", "default_connection_id"], message);
        }
      }
      const settings = { default_connection_id, default_model };
      await updateSettings(connected, settings);
      return settings;
    },
  });
}
