import type { ConnectionScheme, ConnectionStatus } from "../../domain/providers/connection.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { eventType } from "../outbox.ts";
import { selectPage, type Keyset } from "../keyset.ts";

const ROW = columns(`connection_id uuid, org_id uuid, name text, provider_id text, scheme text, credential_revision int,
  status text, status_reason text null, last_checked_at timestamptz null, revision int, created_at timestamptz,
  updated_at timestamptz`);

export interface ConnectionRow extends RowOf<typeof ROW> {
  readonly scheme: ConnectionScheme;
  readonly status: ConnectionStatus;
  /** Increases with every change that a user makes. */
  readonly revision: number;
}

export type NewConnection = Pick<ConnectionRow, "connection_id" | "org_id" | "name" | "provider_id" | "scheme"> & {
  readonly credential: Buffer;
  readonly created_by: string;
};

const NEW = columns(`connection_id uuid, org_id uuid, name text, provider_id text, scheme text, credential bytea,
  created_by uuid`);
const COLUMNS = ROW.select();
const OWN = "org_id = current_org() and connection_id = $1::uuid";

/** Adds a connection; an existing one of the same id (the request was retried) stays as it is. */
export async function insertConnection(db: Db, connection: NewConnection): Promise<void> {
  await db.query(`insert into connections ${NEW.into} on conflict (connection_id) do nothing`, NEW.values(connection));
}

export async function findConnection(db: Db, connectionId: string): Promise<ConnectionRow | null> {
  return db.first(`select ${COLUMNS} from connections where ${OWN}`, [connectionId]);
}

/** A connection, locked until the transaction ends. */
export async function lockConnection(db: Db, connectionId: string): Promise<ConnectionRow | null> {
  return db.first(`select ${COLUMNS} from connections where ${OWN} for update`, [connectionId]);
}

/** Which of those IDs exist; the connections are locked against deletion until the transaction ends. */
export async function holdConnections(db: Db, connectionIds: readonly string[]): Promise<string[]> {
  return db.column(
    `select connection_id from connections where org_id = current_org() and connection_id = any ($1::uuid[])
      order by connection_id for share`,
    [connectionIds],
  );
}

/** A connection with its sealed credential, for use. */
export async function findSealedConnection(
  db: Db,
  connectionId: string,
): Promise<(ConnectionRow & { readonly credential: Buffer }) | null> {
  return db.first(`select ${COLUMNS}, credential from connections where ${OWN}`, [connectionId]);
}

export interface ConnectionFilters {
  readonly provider_id?: string | undefined;
  readonly status?: ConnectionStatus | undefined;
}

export async function listConnections(db: Db, filters: ConnectionFilters, page: Keyset): Promise<ConnectionRow[]> {
  const select = `select ${COLUMNS} from connections where org_id = current_org()
      and ($1::text is null or provider_id = $1::text) and ($2::text is null or status = $2::text)`;
  return selectPage(db, page, "connection_id", select, [filters.provider_id ?? null, filters.status ?? null]);
}

/** The fields that can be changed; undefined ones are not changed. */
export interface ConnectionChange {
  readonly name?: string | undefined;
  readonly credential?: { readonly scheme: ConnectionScheme; readonly sealed: Buffer } | undefined;
  readonly disabled?: boolean | undefined;
}

/** Changes a connection. Check results of an earlier credential are dropped, and enabling the connection clears its failures. */
export async function updateConnection(
  db: Db,
  connectionId: string,
  { name, credential, disabled }: ConnectionChange,
): Promise<void> {
  await db.query(
    `update connections set
        name = coalesce($2::text, name),
        scheme = coalesce($3::text, scheme),
        credential = coalesce($4::bytea, credential),
        credential_revision = credential_revision + case when $4::bytea is null then 0 else 1 end,
        status = case when coalesce($5::boolean, status = 'disabled') then 'disabled'
          when $4::bytea is not null or status = 'disabled' then 'unverified' else status end,
        status_reason = case when $4::bytea is null and coalesce($5::boolean, status = 'disabled') = (status = 'disabled')
          then status_reason end,
        last_checked_at = case when $4::bytea is null then last_checked_at end,
        revision = revision + 1, updated_at = now()
      where ${OWN}`,
    [connectionId, name ?? null, credential?.scheme ?? null, credential?.sealed ?? null, disabled ?? null],
  );
}

/** How many connections a provider has. */
export async function countConnections(db: Db, providerId: string): Promise<number> {
  return db.number(
    "select count(*)::int as count from connections where org_id = current_org() and provider_id = $1::text",
    [providerId],
  );
}

export async function deleteConnection(db: Db, connectionId: string): Promise<boolean> {
  return db.any(`delete from connections where ${OWN}`, [connectionId]);
}

/** The result of a credential's check. */
export interface CredentialFinding {
  /** The revision of the checked credential: if another one has replaced it, nothing is written. */
  readonly credential_revision: number;
  /** Null if the result is unknown: the status stays. */
  readonly status: "active" | "error" | null;
  readonly reason: string | null;
  /** The event to write when the credential stops working. */
  readonly event_id: string;
}

/** Writes the result, and an event if a connection starts to fail. A disabled one stays disabled. */
export async function recordFinding(db: Db, connectionId: string, finding: CredentialFinding): Promise<void> {
  await db.query(
    `
with found as (
  select connection_id, status from connections
  where ${OWN} and credential_revision = $2::int and status <> 'disabled' for update
),
changed as (
  update connections c set status = coalesce($3::text, c.status), status_reason = $4::text, last_checked_at = now(), updated_at = now()
  from found where c.connection_id = found.connection_id
  returning c.connection_id, c.org_id, c.name, c.provider_id, c.status, found.status as before
)
insert into outbox (event_id, org_id, type, data)
select $5::uuid, org_id, ${eventType("connection.error")},
  jsonb_build_object('connection_id', connection_id, 'name', name, 'provider_id', provider_id, 'reason', $4::text)
from changed where status = 'error' and before <> 'error'`,
    [connectionId, finding.credential_revision, finding.status, finding.reason, finding.event_id],
  );
}
