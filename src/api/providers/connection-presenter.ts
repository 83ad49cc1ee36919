import { z } from "zod";
import { CONNECTION_SCHEMES, CONNECTION_STATUSES } from "../../domain/providers/connection.ts";
import type { ConnectionRow } from "../../stores/providers/connections.ts";

export const connectionSchema = z
  .object({
    connection_id: z.uuid(),
    name: z.string(),
    provider_id: z.string(),
    scheme: z.enum(CONNECTION_SCHEMES),
    status: z
      .enum(CONNECTION_STATUSES)
      .describe(
        "`active`: the service took the credential; `error`: it refused it; `unverified`: nobody knows yet; `disabled`: it is not used.",
      ),
    status_reason: z.string().nullable().describe("Why the last check did not succeed."),
    last_checked_at: z.iso.datetime().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "Connection" });

export function presentConnection(connection: ConnectionRow): z.infer<typeof connectionSchema> {
  return {
    connection_id: connection.connection_id,
    name: connection.name,
    provider_id: connection.provider_id,
    scheme: connection.scheme,
    status: connection.status,
    status_reason: connection.status_reason,
    last_checked_at: connection.last_checked_at,
    created_at: connection.created_at,
    updated_at: connection.updated_at,
  };
}
