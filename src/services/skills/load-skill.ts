import { SKILL_FILE, readSkillFile, type ListedFile } from "../../domain/skills/bundle.ts";
import { readSkillReference } from "../../domain/skills/reference.ts";
import { readPart, type BlobStore } from "../../platform/blobs/blobs.ts";
import type { Database } from "../../stores/db.ts";
import { findSkillVersion, type SkillVersionRow, type StoredFile } from "../../stores/skills/skills.ts";

/** A version of a skill. Its description is loaded immediately, its instructions and files on demand. */
export interface LoadedSkill extends Pick<
  SkillVersionRow,
  "skill_id" | "version" | "content_hash" | "name" | "description" | "allowed_tools"
> {
  readonly files: readonly ListedFile[];
  /** The Markdown of its `SKILL.md`, without the front matter. */
  instructions(): Promise<string>;
  /** The bytes of a file, `SKILL.md` included; null if it has no file with that path. */
  read(path: string): Promise<Buffer | null>;
}

/** Loads `id` (the default version), `id@version`, `id@latest` or `id@default`; null if the skill or version does not exist. */
export async function loadSkill(
  { db, blobs }: { readonly db: Database; readonly blobs: Pick<BlobStore, "openRead"> },
  orgId: string,
  reference: string,
): Promise<LoadedSkill | null> {
  const wanted = readSkillReference(reference);
  if (wanted === null) return null;
  const row = await db.org(orgId, (connection) => findSkillVersion(connection, wanted.skill_id, wanted.version));
  return row === null ? null : openSkill(blobs, row);
}

/** A skill from the row of its version. */
export function openSkill(blobs: Pick<BlobStore, "openRead">, row: SkillVersionRow): LoadedSkill {
  const read = async (path: string): Promise<Buffer | null> => {
    const file = row.files.find((each) => each.path === path);
    return file === undefined ? null : readFileOf(blobs, row.blob_key, file);
  };
  const { skill_id, version, content_hash, name, description, allowed_tools, files } = row;
  return {
    skill_id,
    version,
    content_hash,
    name,
    description,
    allowed_tools,
    files,
    read,
    instructions: async () => readSkillFile((await read(SKILL_FILE)) ?? new Uint8Array()).instructions,
  };
}

async function readFileOf(
  blobs: Pick<BlobStore, "openRead">,
  key: string,
  { offset, size }: StoredFile,
): Promise<Buffer> {
  // An empty file is not read, because a range has at least one byte.
  return size === 0 ? Buffer.alloc(0) : readPart(blobs, key, { start: offset, end: offset + size - 1 });
}
