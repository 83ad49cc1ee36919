import { z } from "zod";
import { CONNECTION_SCHEMES, CONNECTION_STATUSES } from "../../domain/providers/connection.ts";
import type { ConnectionRow } from "../../stores/providers/connections.ts";
import { asDeclared } from "../http/as-declared.ts";

export const connectionSchema = z
  .object({
    connection_id: z.uuid(),
    name: z.string(),
    provider_id: z.string(),
    scheme: z.enum(CONNECTION_SCHEMES),
    status: z
      .enum(CONNECTION_STATUSES)
      .describe(
        "`active`: the service accepted the credential; `error`: it rejected the credential; `unverified`: not checked yet; `disabled`: switched off.",
      ),
    status_reason: z.string().nullable().describe("Why the last check failed."),
    last_checked_at: z.iso.datetime().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "Connection" });

export const presentConnection = (connection: ConnectionRow) => asDeclared(connectionSchema, connection);
