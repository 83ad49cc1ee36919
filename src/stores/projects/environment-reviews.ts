import type { Principal } from "../../domain/accounts/principal.ts";
import type { Bindings } from "../../domain/projects/environments.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";
import { nameOf } from "./author-names.ts";

export const REVIEW_STATES = ["open", "approved", "rejected", "withdrawn"] as const;
export type ReviewState = (typeof REVIEW_STATES)[number];

const ROW = columns(`review_id uuid, project_id uuid, environment text, version int, connections jsonb, notes text,
  digest text, state text, proposed_by_type text, proposed_by uuid, proposer uuid, proposed_at timestamptz,
  decided_by uuid null, decided_at timestamptz null, reason text`);

/** A version with its connections, frozen for the decision of a second person. */
export interface EnvironmentReview extends RowOf<typeof ROW> {
  readonly connections: Bindings;
  /** SHA-256 (hex) of the version when the review was made. */
  readonly digest: string;
  readonly state: ReviewState;
  readonly proposed_by_type: Principal["type"];
  readonly proposed_by_name: string | null;
  /** The user who proposed it, or the user behind the key. */
  readonly proposer: string;
  readonly decided_by_name: string | null;
}

const COLUMNS = `${ROW.select("w")}, ${nameOf("w.proposed_by", "w.org_id")} as proposed_by_name,
  ${nameOf("w.decided_by", "w.org_id")} as decided_by_name`;
const OWN = "w.org_id = current_org() and w.project_id = $1::uuid";

const NEW = columns(`review_id uuid, project_id uuid, environment text, version int, connections jsonb, notes text,
  digest text, proposed_by_type text, proposed_by uuid, proposer uuid, org_id uuid`);

export type NewReview = Pick<EnvironmentReview, Exclude<NameOf<typeof NEW>, "org_id">> & { readonly org_id: string };

/** Adds an open review; false if there is an open one of the same version and connections. */
export async function insertReview(db: Db, review: NewReview): Promise<boolean> {
  return db.any(`insert into environment_reviews ${NEW.into} on conflict do nothing`, NEW.values(review));
}

export async function findReview(db: Db, projectId: string, reviewId: string): Promise<EnvironmentReview | null> {
  return db.first(`select ${COLUMNS} from environment_reviews w where ${OWN} and w.review_id = $2::uuid`, [
    projectId,
    reviewId,
  ]);
}

/** A page of the reviews of an environment. */
export async function listReviews(
  db: Db,
  {
    project_id,
    environment,
    state,
  }: Pick<EnvironmentReview, "project_id" | "environment"> & { state: ReviewState | null },
  page: Keyset,
): Promise<EnvironmentReview[]> {
  const select = `select ${COLUMNS} from environment_reviews w where ${OWN} and w.environment = $2::text and ($3::text is null or w.state = $3::text)`;
  return selectPage(db, page, "w.review_id", select, [project_id, environment, state]);
}

/** Decides an open review. */
export async function decideReview(
  db: Db,
  { review_id, state, decider, reason }: { review_id: string; state: ReviewState; decider: Principal; reason: string },
): Promise<void> {
  await db.query(
    `update environment_reviews set state = $2::text, decided_by_type = $3::text, decided_by = $4::uuid, decided_at = clock_timestamp(),
        reason = $5::text
      where org_id = current_org() and review_id = $1::uuid and state = 'open'`,
    [review_id, state, decider.type, decider.id, reason],
  );
}

/** SHA-256 (hex) of a version: its flow with layout and notes, what it executes, and the rights that it runs with. */
export async function digestOfVersion(db: Db, projectId: string, version: number): Promise<string | null> {
  return db.value(
    `select encode(sha256(convert_to(concat_ws(E'\\n', coalesce(written_definition::text, definition::text),
        coalesce(written_plan::text, plan::text), rights::text), 'UTF8')), 'hex')
      from flow_versions where org_id = current_org() and project_id = $1::uuid and version = $2::int`,
    [projectId, version],
  );
}

/** The user behind a caller: the user, or the one who created the key, also through other keys; otherwise the first of these keys. */
export async function personBehind(db: Db, { type, id }: Pick<Principal, "type" | "id">): Promise<string> {
  if (type === "user") return id;
  const person = await db.value<string>(
    `with recursive up as (
        select key_id, created_by, 1 as level from api_keys where org_id = current_org() and key_id = $1::uuid
        union all
        select k.key_id, k.created_by, up.level + 1 from up join api_keys k on k.key_id = up.created_by and k.org_id = current_org()
        where up.level < 100)
      select coalesce(created_by, key_id) from up order by level desc limit 1`,
    [id],
  );
  return person ?? id;
}
