import { invalid, notFound, required } from "../../domain/errors.ts";
import type { ConnectionScheme, Credential } from "../../domain/providers/connection.ts";
import type { Provider } from "../../domain/providers/provider.ts";
import { unlessBroken, type SecretBox } from "../../platform/secrets/seal.ts";
import type { Database, Db } from "../../stores/db.ts";
import {
  deleteConnection as removeConnection,
  findConnection,
  findSealedConnection,
  insertConnection,
  lockConnection,
  updateConnection,
  type ConnectionRow,
  type NewConnection,
} from "../../stores/providers/connections.ts";
import { changeLocked } from "../change.ts";
import { refuseWhileSource } from "../knowledge/connection-sources.ts";
import { refuseWhileTriggering } from "../triggers/triggers.ts";
import { refuseWhileUsed } from "../projects/flow-references.ts";
import { mergedCredential, openCredential, requireCredential, requireScheme, sealCredential } from "./credentials.ts";
import { findProvider } from "./providers.ts";
import { recordDeleted, type RowAudit } from "../audit/audit.ts";
import type { Parts } from "../parts.ts";

const CONNECTION = "connection";

type Deps = Parts<"db" | "secrets">;

/** The connection with this ID. Throws 404. */
export async function requireConnection(db: Db, connectionId: string): Promise<ConnectionRow> {
  return required(await findConnection(db, connectionId), CONNECTION);
}

export interface ConnectionToCreate extends Omit<NewConnection, "scheme" | "credential"> {
  readonly scheme: ConnectionScheme | undefined;
  readonly credential: Credential;
  readonly audited: Omit<RowAudit<ConnectionRow>, "target">;
}

/** Stores a connection, not yet checked. Throws 422 for an unknown provider or a credential that it does not accept. */
export async function createConnection({ db, secrets }: Deps, wanted: ConnectionToCreate): Promise<ConnectionRow> {
  const { audited, ...own } = wanted;
  const { connection_id, org_id } = own;
  return await db.orgTransaction(org_id, async (connection) => {
    const provider = await known(connection, wanted.provider_id);
    const { scheme, auth } = requireScheme(provider, wanted.scheme, wanted.credential);
    const credential = sealCredential(secrets, connection_id, requireCredential(auth, wanted.credential));
    await insertConnection(connection, { ...own, scheme, credential });
    const created = await requireConnection(connection, connection_id);
    await audited.audit(connection, {
      target: { type: "connection", id: connection_id },
      after: audited.view(created),
      secrets: ["credential"],
    });
    return created;
  });
}

export interface ConnectionChangeRequest {
  readonly name?: string | undefined;
  readonly scheme?: ConnectionScheme | undefined;
  /** Merged into the current credential of the same scheme; null removes a field. */
  readonly credential?: Credential | undefined;
  readonly disabled?: boolean | undefined;
}

/** Changes a connection. Calls `check` with the locked connection before it changes anything. Throws 404 and 422. */
export async function changeConnection(
  { db, secrets }: Deps,
  orgId: string,
  connectionId: string,
  { name, scheme, credential, disabled }: ConnectionChangeRequest,
  check: (connection: ConnectionRow) => void,
  audited: RowAudit<ConnectionRow>,
): Promise<ConnectionRow> {
  return await changeLocked(db, orgId, {
    audited,
    async lock(connection) {
      return required(await lockConnection(connection, connectionId), CONNECTION);
    },
    requireMatch: check,
    async write(connection, found) {
      if (scheme !== undefined && credential === undefined)
        throw invalid(["body", "credential"], "Another authentication scheme needs a new credential");
      const fresh =
        credential && requireScheme(await known(connection, found.provider_id), scheme ?? found.scheme, credential);
      const present = fresh?.scheme === found.scheme ? await credentialOf(connection, secrets, connectionId) : {};
      await updateConnection(connection, connectionId, {
        name,
        disabled,
        credential: fresh && {
          scheme: fresh.scheme,
          sealed: sealCredential(secrets, connectionId, mergedCredential(fresh.auth, present, credential)),
        },
      });
      return requireConnection(connection, connectionId);
    },
  });
}

/** Deletes a connection. Throws 404, and 409 `in_use` while a published flow, a knowledge base or a trigger uses it. */
export async function deleteConnection(
  db: Database,
  orgId: string,
  connectionId: string,
  audited: RowAudit<ConnectionRow>,
): Promise<void> {
  await db.orgTransaction(orgId, async (connection) => {
    // Locked before the check of flows, so that no flow that uses it can be published in between.
    const found = required(await lockConnection(connection, connectionId), CONNECTION);
    await refuseWhileUsed(connection, "connection", connectionId);
    await refuseWhileSource(connection, connectionId);
    await refuseWhileTriggering(connection, connectionId);
    if (!(await removeConnection(connection, connectionId))) throw notFound(CONNECTION);
    await recordDeleted(connection, audited, found);
  });
}

/** The current credential; empty if no master key opens it, so that it can be replaced. */
async function credentialOf(db: Db, box: SecretBox, connectionId: string): Promise<Credential> {
  const found = await findSealedConnection(db, connectionId);
  if (found === null) return {};
  return unlessBroken(() => openCredential(box, connectionId, found.credential)) ?? {};
}

async function known(db: Db, providerId: string): Promise<Provider> {
  const provider = await findProvider(db, providerId);
  if (provider === null)
    throw invalid(["body", "provider_id"], "Provider not found: GET /v2/providers lists the providers");
  return provider;
}
