import { uuidv7 } from "uuidv7";
import { changesBetween } from "../../domain/audit/audit.ts";
import type { AuditActor, AuditedRequest, AuditOutcome, AuditTarget } from "../../domain/audit/audit.ts";
import type { JsonObject } from "../../domain/json.ts";
import { isUuid } from "../../domain/uuid.ts";
import { maskLiterals } from "../../platform/logging/literal-secrets.ts";
import { MASK } from "../../platform/logging/redaction.ts";
import { insertAuditEntry } from "../../stores/audit/audit-log.ts";
import type { Db } from "../../stores/db.ts";

/** A change of one resource, as views of it: what the API shows, without any secret. */
export interface AuditedChange {
  /** None of what concerns the organisation as a whole. */
  readonly target?: AuditTarget;
  /** Absent where the resource was not there. */
  readonly before?: object;
  /** Absent where it is there no more. */
  readonly after?: object;
  /** Names of secrets that are given or replaced: the log has no more of them. */
  readonly secrets?: readonly string[];
}

/**
 * Records what a request does, as the operation, the caller and the request that it was made for. To be called in the transaction
 * of the effect: then there is neither without the other.
 */
export type Audit = (db: Db, change: AuditedChange) => Promise<void>;

/** How a change of a row is recorded. */
export interface RowAudit<Row> {
  readonly audit: Audit;
  readonly target?: AuditTarget;
  /** What the API shows of a row to a viewer. */
  readonly view: (row: Row) => object;
  readonly secrets?: readonly string[];
}

/** How changes of the resources of a type are recorded: by what the API shows of them. */
export function auditAs<Row>(type: string, view: (row: Row) => object): (audit: Audit, id: string) => RowAudit<Row> {
  return (audit, id) => ({ audit, target: { type, id }, view });
}

/** Writes an entry for an operation that `actor` has asked for. */
export async function recordAudit(
  db: Db,
  actor: AuditActor,
  operation: string,
  { target, before, after, secrets = [] }: AuditedChange = {},
  outcome: AuditOutcome = "success",
): Promise<void> {
  await insertAuditEntry(db, {
    ...actor,
    entry_id: uuidv7(),
    operation,
    target_type: target?.type ?? null,
    // As they are stored, however an address spells them.
    target_id: target === undefined ? null : isUuid(target.id) ? target.id.toLowerCase() : target.id,
    outcome,
    changes: {
      ...changesBetween(shown(before), shown(after)),
      ...Object.fromEntries(secrets.map((name) => [name, { after: MASK }])),
    },
  });
}

/** Records what is done for a request. */
export function auditOf({ actor, operation }: AuditedRequest): Audit {
  return (db, change) => recordAudit(db, actor, operation, change);
}

/** Records that a resource is new. */
export async function recordCreated<Row>(db: Db, { audit, view, ...named }: RowAudit<Row>, row: Row): Promise<void> {
  await audit(db, { ...named, after: view(row) });
}

/** Records that a resource is there no more. */
export async function recordDeleted<Row>(db: Db, { audit, view, ...named }: RowAudit<Row>, row: Row): Promise<void> {
  await audit(db, { ...named, before: view(row) });
}

/** A view as JSON; credentials that somebody has written into it are masked. */
function shown(view: object | undefined): JsonObject | null {
  return view === undefined ? null : maskLiterals(JSON.parse(JSON.stringify(view)) as JsonObject);
}
