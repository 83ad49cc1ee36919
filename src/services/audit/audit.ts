import { uuidv7 } from "uuidv7";
import {
  changesBetween,
  storedTarget,
  type AuditActor,
  type AuditedRequest,
  type AuditOutcome,
  type AuditTarget,
} from "../../domain/audit/audit.ts";
import type { JsonObject } from "../../domain/json.ts";
import { maskLiterals } from "../../platform/logging/literal-secrets.ts";
import { MASK } from "../../platform/logging/redaction.ts";
import { insertAuditEntry } from "../../stores/audit/audit-log.ts";
import type { Db } from "../../stores/db.ts";

/** A change of one resource, as the API shows it before and after, without any secret. */
export interface AuditedChange {
  /** Absent if the change concerns the organisation as a whole. */
  readonly target?: AuditTarget;
  /** Absent if the resource is new. */
  readonly before?: object;
  /** Absent if the resource was deleted. */
  readonly after?: object;
  /** Names of secrets that were set or replaced: the log has only their names. */
  readonly secrets?: readonly string[];
}

/**
 * Records a change with its operation, caller and request. Call it in the transaction of the change: so that neither
 * exists without the other.
 */
export type Audit = (db: Db, change: AuditedChange) => Promise<void>;

/** How a change of a row is recorded. */
export interface RowAudit<Row> {
  readonly audit: Audit;
  readonly target?: AuditTarget;
  /** The API's view of a row. */
  readonly view: (row: Row) => object;
  readonly secrets?: readonly string[];
}

/** How to record changes of one type of resource: by the API's view of them. */
export function auditAs<Row>(type: string, view: (row: Row) => object): (audit: Audit, id: string) => RowAudit<Row> {
  return (audit, id) => ({ audit, target: { type, id }, view });
}

/** Writes an entry for an operation that `actor` requested, unless an entry with that ID exists. */
export async function recordAudit(
  db: Db,
  actor: AuditActor,
  operation: string,
  { target, before, after, secrets = [] }: AuditedChange = {},
  outcome: AuditOutcome = "success",
  entryId: string = uuidv7(),
): Promise<void> {
  await insertAuditEntry(db, {
    ...actor,
    entry_id: entryId,
    operation,
    target_type: target?.type ?? null,
    target_id: target === undefined ? null : storedTarget(target.id),
    outcome,
    changes: {
      ...changesBetween(shown(before), shown(after)),
      ...Object.fromEntries(secrets.map((name) => [name, { after: MASK }])),
    },
  });
}

/** Records changes made for a request. */
export function auditOf({ actor, operation, entry_id }: AuditedRequest): Audit {
  return (db, change) => recordAudit(db, actor, operation, change, "success", entry_id);
}

/** Records that a resource was created. */
export async function recordCreated<Row>(db: Db, { audit, view, ...named }: RowAudit<Row>, row: Row): Promise<void> {
  await audit(db, { ...named, after: view(row) });
}

/** Records that a resource was deleted. */
export async function recordDeleted<Row>(db: Db, { audit, view, ...named }: RowAudit<Row>, row: Row): Promise<void> {
  await audit(db, { ...named, before: view(row) });
}

/** A view as JSON. Credentials that a person wrote into it are masked. */
function shown(view: object | undefined): JsonObject | null {
  return view === undefined ? null : maskLiterals(JSON.parse(JSON.stringify(view)) as JsonObject);
}
