import { uuidv7 } from "uuidv7";
import { Problem, invalid, notFound, required } from "../../domain/errors.ts";
import { MAX_SKILL_BYTES, SKILL_FILE, fileAt, type SkillBundle } from "../../domain/skills/bundle.ts";
import { zipOf } from "../../platform/zip.ts";
import { isUniqueViolation, type Database, type Db } from "../../stores/db.ts";
import * as skills from "../../stores/skills/skills.ts";
import type { SkillRow, SkillVersionRow, StoredFile } from "../../stores/skills/skills.ts";
import { storageOf, type CountStored } from "../accounts/quotas.ts";
import { changeLocked } from "../change.ts";
import { discardBlob } from "../documents/discard-documents.ts";
import { refuseWhileUsed } from "../projects/flow-references.ts";
import { recordCreated, recordDeleted, type RowAudit } from "../audit/audit.ts";
import type { Parts } from "../parts.ts";

export type SkillDeps = Parts<"db" | "blobs" | "logger" | "quotas">;

/** The row that a request created, or found if it is a retry. */
interface Made<Row> {
  readonly row: Row;
  readonly created: boolean;
}

/** The files and their headers, for which 1 MiB is enough because paths have at most 255 characters. */
const MAX_ZIP_BYTES = MAX_SKILL_BYTES + 1024 * 1024;

/** The skill with this ID. Throws 404. */
export async function requireSkill(db: Db, skillId: string): Promise<SkillRow> {
  return required(await skills.findSkill(db, skillId), "skill");
}

/**
 * Creates a skill with its first version. A retry of the request returns the skill that already has this ID. Throws 409
 * if the name is taken.
 */
export async function createSkill(
  deps: SkillDeps,
  { org_id, skill_id, created_by }: { org_id: string; skill_id: string; created_by: string },
  bundle: SkillBundle,
  audited: RowAudit<SkillRow>,
): Promise<Made<SkillRow>> {
  const { db } = deps;
  const earlier = async (): Promise<Made<SkillRow>> => {
    const found = await db.org(org_id, (connection) => skills.findSkillVersion(connection, skill_id, 1));
    if (found?.content_hash !== bundle.content_hash) {
      const detail = "This Idempotency-Key was used with another skill in the last 24 hours.";
      throw new Problem("idempotency_conflict", detail);
    }
    return { row: await db.org(org_id, (connection) => requireSkill(connection, skill_id)), created: false };
  };
  const [sameId, sameName] = await db.org(org_id, async (connection) => [
    await skills.findSkill(connection, skill_id),
    await skills.findSkillId(connection, bundle.name),
  ]);
  if (sameId !== null) return await earlier();
  if (sameName !== null) throw nameTaken(bundle.name, sameName);

  const countStored = await storageOf(deps.quotas, org_id);
  return await withStoredBundle(deps, org_id, bundle, async (stored) => {
    try {
      return await db.orgTransaction(org_id, async (connection) => {
        if (!(await skills.insertSkill(connection, { skill_id, org_id, name: bundle.name, created_by })))
          return { kept: false, ...(await earlier()) };
        await addVersion(connection, { ...stored, org_id, skill_id, version: 1, created_by }, bundle, countStored);
        const row = await requireSkill(connection, skill_id);
        await recordCreated(connection, audited, row);
        return { kept: true, row, created: true };
      });
    } catch (error) {
      if (!isUniqueViolation(error, "skills_name_key")) throw error;
      const other = await db.org(org_id, (connection) => skills.findSkillId(connection, bundle.name));
      throw nameTaken(bundle.name, other);
    }
  });
}

/** Adds a version, or finds the one with this content. Throws 404, and 422 for a bundle with another name. */
export async function createSkillVersion(
  deps: SkillDeps,
  { org_id, skill_id, created_by }: { org_id: string; skill_id: string; created_by: string },
  bundle: SkillBundle,
  audited?: RowAudit<SkillVersionRow>,
): Promise<Made<SkillVersionRow>> {
  const { db } = deps;
  const known = (connection: Db): Promise<SkillVersionRow | null> =>
    skills.findSkillVersionByContent(connection, skill_id, bundle.content_hash);
  const { name } = await db.org(org_id, (connection) => requireSkill(connection, skill_id));
  if (name !== bundle.name) {
    throw invalid(fileAt(SKILL_FILE, "name"), `The skill is named ${name}: all its versions must have this name`);
  }
  const same = await db.org(org_id, known);
  if (same !== null) return { row: same, created: false };

  const countStored = await storageOf(deps.quotas, org_id);
  return await withStoredBundle(deps, org_id, bundle, (stored) =>
    db.orgTransaction(org_id, async (connection) => {
      if (!(await skills.lockSkill(connection, skill_id))) throw notFound("skill");
      const meanwhile = await known(connection);
      if (meanwhile !== null) return { kept: false, row: meanwhile, created: false };
      const { latest_version } = await requireSkill(connection, skill_id);
      const version = latest_version + 1;
      await addVersion(connection, { ...stored, org_id, skill_id, version, created_by }, bundle, countStored);
      await skills.setLatestVersion(connection, skill_id, version);
      const row = required(await skills.findSkillVersion(connection, skill_id, version), "skill");
      if (audited !== undefined) await recordCreated(connection, audited, row);
      return { kept: true, row, created: true };
    }),
  );
}

/** Makes a version the default. Calls `check` with the locked skill before it changes anything. Throws 404 and 422. */
export async function changeDefaultVersion(
  db: Database,
  orgId: string,
  skillId: string,
  version: number | undefined,
  check: (skill: SkillRow) => void,
  audited: RowAudit<SkillRow>,
): Promise<SkillRow> {
  return await changeLocked(db, orgId, {
    audited,
    async lock(connection) {
      if (!(await skills.lockSkill(connection, skillId))) throw notFound("skill");
      return requireSkill(connection, skillId);
    },
    requireMatch: check,
    async write(connection, skill) {
      if (version === undefined || version === skill.default_version) return skill;
      if (!(await skills.setDefaultVersion(connection, skillId, version))) {
        throw invalid(["body", "default_version"], `The skill does not have version ${version}`);
      }
      return requireSkill(connection, skillId);
    },
  });
}

/** Deletes a skill with all its versions. Throws 404, and 409 `in_use` if published flows use it. */
export async function deleteSkill(
  deps: Omit<SkillDeps, "quotas">,
  orgId: string,
  skillId: string,
  audited: RowAudit<SkillRow>,
): Promise<void> {
  const left = await deps.db.orgTransaction(orgId, async (connection) => {
    if (!(await skills.lockSkill(connection, skillId))) throw notFound("skill");
    await refuseWhileUsed(connection, "skill", skillId);
    await recordDeleted(connection, audited, await requireSkill(connection, skillId));
    return skills.deleteSkillRows(connection, skillId);
  });
  await Promise.all(left.map((key) => discardBlob(deps, key)));
}

interface StoredBundle {
  readonly blob_key: string;
  readonly files: readonly StoredFile[];
}

/** Stores the files as one blob before `work`, and deletes the blob if `work` does not keep it. */
async function withStoredBundle<T extends { readonly kept: boolean }>(
  deps: SkillDeps,
  orgId: string,
  { name, files }: SkillBundle,
  work: (stored: StoredBundle) => Promise<T>,
): Promise<T> {
  // The files are in a folder named after the skill, so that unpacking yields that folder.
  const { parts, offsets } = zipOf(files.map(({ path, content }) => ({ path: `${name}/${path}`, content })));
  const { key } = await deps.blobs.put(orgId, asyncOf(parts), { maxBytes: MAX_ZIP_BYTES });
  const listed = files.map(({ path, size, sha256 }, index) => ({ path, size, sha256, offset: offsets[index] ?? 0 }));
  try {
    const made = await work({ blob_key: key, files: listed });
    if (!made.kept) await discardBlob(deps, key);
    return made;
  } catch (error) {
    await discardBlob(deps, key);
    throw error;
  }
}

async function addVersion(
  db: Db,
  version: StoredBundle & { org_id: string; skill_id: string; version: number; created_by: string },
  bundle: SkillBundle,
  countStored: CountStored,
): Promise<void> {
  const { description, license, compatibility, metadata, allowed_tools, size, content_hash } = bundle;
  const content = { description, license, compatibility, metadata, allowed_tools, size, content_hash };
  await skills.insertSkillVersion(db, uuidv7(), { ...version, ...content });
  await countStored(db, size);
}

async function* asyncOf(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  yield* parts;
}

function nameTaken(name: string, skill_id: string | null): Problem {
  const detail = `Skill ${name} already exists: add a version with POST /v2/skills/{skill_id}/versions.`;
  return new Problem("name_taken", detail, { extra: { skill_id } });
}
