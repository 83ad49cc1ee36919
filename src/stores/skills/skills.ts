import { columns, type RowOf } from "../columns.ts";
import { numberKeysetSql, selectPage, type Keyset } from "../keyset.ts";
import type { Db } from "../db.ts";
import { eventType } from "../outbox.ts";
import type { ListedFile } from "../../domain/skills/bundle.ts";

const ROW = columns(`skill_id uuid, name text, latest_version int, default_version int, revision int,
  created_at timestamptz, updated_at timestamptz`);
const VERSION_ROW = columns(`skill_id uuid, version int, description text, license text null, compatibility text null,
  metadata jsonb, allowed_tools text[], content_hash text, files jsonb, size bigint, blob_key text,
  created_by uuid null, created_at timestamptz`);

/** A file of a version, with its offset in the blob (bytes). */
export interface StoredFile extends ListedFile {
  readonly offset: number;
}

export interface SkillVersionRow extends RowOf<typeof VERSION_ROW> {
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly files: readonly StoredFile[];
}

/** A skill, described by its default version. */
export interface SkillRow extends RowOf<typeof ROW>, Pick<SkillVersionRow, "description" | "size" | "content_hash"> {
  readonly file_count: number;
}

export type NewSkillVersion = Omit<SkillVersionRow, "name" | "created_at"> & { readonly org_id: string };

const SKILL = `${ROW.select("s")}, v.description, jsonb_array_length(v.files) as file_count, v.size, v.content_hash`;
const WITH_DEFAULT = "join skill_versions v on v.skill_id = s.skill_id and v.version = s.default_version";
const VERSION = `${VERSION_ROW.select("v")}, s.name`;
const VERSIONS = "from skill_versions v join skills s using (skill_id) where v.org_id = current_org()";

/** Inserts a skill whose first version follows in the same transaction; false if the id exists. */
export async function insertSkill(
  db: Db,
  skill: { skill_id: string; org_id: string; name: string; created_by: string | null },
): Promise<boolean> {
  return db.any(
    `insert into skills (skill_id, org_id, name, created_by) values ($1::uuid, $2::uuid, $3::text, $4::uuid)
      on conflict (skill_id) do nothing`,
    [skill.skill_id, skill.org_id, skill.name, skill.created_by],
  );
}

const NEW = columns(`skill_id uuid, version int, org_id uuid, description text, license text, compatibility text,
  metadata jsonb, allowed_tools text[], content_hash text, files jsonb, size bigint, blob_key text, created_by uuid`);

/** Adds a version and its event. */
export async function insertSkillVersion(db: Db, event_id: string, version: NewSkillVersion): Promise<void> {
  await db.query(
    `with added as (
        insert into skill_versions ${NEW.into}
        returning skill_id, version, org_id, description, content_hash)
      insert into outbox (event_id, org_id, type, data)
      select $14::uuid, a.org_id, ${eventType("skill.version.created")}, jsonb_build_object('skill_id', a.skill_id, 'name', s.name,
        'version', a.version, 'description', a.description, 'content_hash', a.content_hash)
      from added a join skills s using (skill_id)`,
    [...NEW.values(version), event_id],
  );
}

export async function findSkill(db: Db, skillId: string): Promise<SkillRow | null> {
  return db.first(
    `select ${SKILL} from skills s ${WITH_DEFAULT} where s.org_id = current_org() and s.skill_id = $1::uuid`,
    [skillId],
  );
}

/** The id of the skill that has this name, or null. */
export async function findSkillId(db: Db, name: string): Promise<string | null> {
  return db.value("select skill_id from skills where org_id = current_org() and name = $1::text", [name]);
}

/** Locks a skill until the transaction ends; false if there is none. */
export async function lockSkill(db: Db, skillId: string): Promise<boolean> {
  return db.any("select skill_id from skills where org_id = current_org() and skill_id = $1::uuid for update", [
    skillId,
  ]);
}

/** Those of these skills that exist, with their latest versions, locked against deletion until the transaction ends. */
export async function holdSkills(db: Db, skillIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  return db.pairs(
    `select skill_id, latest_version from skills where org_id = current_org() and skill_id = any ($1::uuid[])
      order by skill_id for share`,
    [skillIds],
  );
}

/** A page of the organisation's skills. */
export async function listSkills(db: Db, page: Keyset): Promise<SkillRow[]> {
  const select = `select ${SKILL} from skills s ${WITH_DEFAULT} where s.org_id = current_org()`;
  return selectPage(db, page, "s.skill_id", select);
}

/** The version that a version's name stands for; null if there is none. */
export async function findSkillVersion(
  db: Db,
  skillId: string,
  version: number | "latest" | "default",
): Promise<SkillVersionRow | null> {
  return db.first(
    `select ${VERSION} ${VERSIONS} and v.skill_id = $1::uuid
      and v.version = case $2::text when 'latest' then s.latest_version when 'default' then s.default_version else $2::int end`,
    [skillId, String(version)],
  );
}

/** The version of a skill with this content. */
export async function findSkillVersionByContent(
  db: Db,
  skillId: string,
  contentHash: string,
): Promise<SkillVersionRow | null> {
  return db.first(`select ${VERSION} ${VERSIONS} and v.skill_id = $1::uuid and v.content_hash = $2::text`, [
    skillId,
    contentHash,
  ]);
}

/** A page of a skill's versions; `beyond` is a version number. */
export async function listSkillVersions(db: Db, skillId: string, page: Keyset): Promise<SkillVersionRow[]> {
  const select = `select ${VERSION} ${VERSIONS} and v.skill_id = $1::uuid`;
  return selectPage(db, page, "v.version", select, [skillId], numberKeysetSql);
}

/** Makes a version the latest one. */
export async function setLatestVersion(db: Db, skillId: string, version: number): Promise<void> {
  await db.query(
    `update skills set latest_version = $2::int, revision = revision + 1, updated_at = now()
      where org_id = current_org() and skill_id = $1::uuid`,
    [skillId, version],
  );
}

/** Makes a version the default; false if there is no such version. */
export async function setDefaultVersion(db: Db, skillId: string, version: number): Promise<boolean> {
  return db.any(
    `update skills s set default_version = $2::int, revision = revision + 1, updated_at = now()
      where s.org_id = current_org() and s.skill_id = $1::uuid
        and exists (select from skill_versions v where v.skill_id = s.skill_id and v.version = $2::int)`,
    [skillId, version],
  );
}

/** Deletes a skill with its versions; returns the keys of their blobs, which must be deleted too. */
export async function deleteSkillRows(db: Db, skillId: string): Promise<string[]> {
  const versions = await db.column<string>(
    "delete from skill_versions where org_id = current_org() and skill_id = $1::uuid returning blob_key",
    [skillId],
  );
  await db.query("delete from skills where org_id = current_org() and skill_id = $1::uuid", [skillId]);
  return versions;
}
