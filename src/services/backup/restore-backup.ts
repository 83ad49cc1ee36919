import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { createLimit } from "../../platform/at-once.ts";
import { BlobNotFound, type ObjectStore } from "../../platform/blobs/blobs.ts";
import { fillTables, findOccupied, MADE_ANEW } from "../../stores/backup/backup.ts";
import { withBaseline } from "../../stores/baseline.ts";
import { migrate, migrationsIn } from "../../stores/migrate.ts";
import {
  BLOB_INDEX,
  blobFile,
  linesOf,
  store,
  counted,
  summed,
  tableFile,
  type BackupFiles,
  type FileSum,
} from "./files.ts";
import { BackupRefused, readManifest, type BackupBlob, type Manifest } from "./manifest.ts";

const AT_ONCE = 16;

/** Verifies a whole backup without writing anything. Returns its problems, one sentence each. */
export async function checkBackup(
  files: BackupFiles,
  migrations: string,
): Promise<{ readonly manifest: Manifest; readonly problems: string[] }> {
  const manifest = await readManifest(files);
  const problems = await newerThan(manifest, migrations);
  for (const table of manifest.tables) {
    await noted(problems, tableFile(table.name), async () => {
      const read = await openRows(files, table);
      for await (const _ of read.rows);
      read.verify();
    });
  }
  let count = 0;
  const limit = createLimit(AT_ONCE);
  await noted(problems, BLOB_INDEX, async () => {
    for await (const blobs of blobsOf(files, manifest)) {
      count += blobs.length;
      const check = (blob: BackupBlob) =>
        limit(() => noted(problems, blobFile(blob.key), () => checkBlob(files, blob)));
      await Promise.all(blobs.map(check));
    }
    if (count !== manifest.blobs.count)
      throw new BackupRefused(`it lists ${count} blobs, but the manifest says ${manifest.blobs.count}.`);
  });
  return { manifest, problems };
}

/** Fills an empty database and a blob store from a backup. Existing blobs are kept. */
export async function restoreBackup(
  files: BackupFiles,
  to: { readonly url: string; readonly blobs: ObjectStore; readonly migrations: string },
): Promise<Manifest> {
  const manifest = await readManifest(files);
  const [newer] = await newerThan(manifest, to.migrations);
  if (newer !== undefined) throw new BackupRefused(newer);
  await refuseOccupied(to.url);
  await migrate(to.url, to.migrations, withBaseline(manifest.migrations, await migrationsIn(to.migrations)).names);
  // Blobs are restored before the rows that refer to them; a repeated restore copies only the missing ones.
  const limit = createLimit(AT_ONCE);
  for await (const blobs of blobsOf(files, manifest))
    await Promise.all(blobs.map((blob) => limit(() => restoreBlob(files, to.blobs, blob))));
  await fillTables(to.url, manifest.sequences, async (copy) => {
    for (const table of manifest.tables) {
      // Backups of earlier versions contain this table, whose rows are generated instead of restored.
      if (table.name === MADE_ANEW) continue;
      const read = await openRows(files, table);
      const rows = await copy(table, read.rows).catch((error: unknown) => {
        throw new Error(`Could not restore table ${table.name}; the database is still empty.`, { cause: error });
      });
      read.verify();
      if (rows !== table.rows)
        throw new BackupRefused(`Postgres received ${rows} rows of ${table.name}, but the backup has ${table.rows}.`);
    }
  });
  // Applies the migrations that are newer than the backup.
  await migrate(to.url, to.migrations);
  return manifest;
}

async function refuseOccupied(url: string): Promise<void> {
  const table = await findOccupied(url);
  if (table !== undefined)
    throw new BackupRefused(`The database is not empty: ${table} has rows. Restore into a new database.`);
}

async function newerThan({ migrations, millrace }: Manifest, directory: string): Promise<string[]> {
  const known = await migrationsIn(directory);
  const { names, outdated } = withBaseline(migrations, known);
  if (outdated)
    return [
      `The backup was made by Millrace ${millrace}, before the baseline of this version: restore it with that version, and migrate the database step by step.`,
    ];
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return [];
  return [
    `The backup was made by Millrace ${millrace}, which is newer (${unknown.join(", ")}): restore it with that version.`,
  ];
}

/** Rows of a table. Once they are read, `verify` throws BackupRefused if they differ from the manifest. */
async function openRows(
  files: BackupFiles,
  table: Manifest["tables"][number],
): Promise<{ readonly rows: AsyncIterable<Buffer>; verify(): void }> {
  const sum = { bytes: 0, sha256: "" };
  const count = { rows: 0 };
  const { stream } = await files.openRead(tableFile(table.name));
  return {
    rows: counted(
      pipeline(summed(stream, sum), createGunzip(), () => undefined),
      count,
    ),
    verify() {
      requireSum(sum, table);
      if (count.rows !== table.rows)
        throw new BackupRefused(`it has ${count.rows} rows, but the manifest says ${table.rows}.`);
    },
  };
}

/** The blobs of a backup, in batches. Throws BackupRefused at the end if the list differs from the manifest. */
async function* blobsOf(files: BackupFiles, { blobs }: Manifest): AsyncGenerator<BackupBlob[]> {
  const sum = { bytes: 0, sha256: "" };
  const { stream } = await files.openRead(BLOB_INDEX);
  const clear = pipeline(summed(stream, sum), createGunzip(), () => undefined);
  for await (const lines of linesOf(clear)) yield lines.map((line) => JSON.parse(line) as BackupBlob);
  requireSum(sum, blobs);
}

async function checkBlob(files: BackupFiles, blob: BackupBlob): Promise<void> {
  const sum = { bytes: 0, sha256: "" };
  for await (const _ of summed((await files.openRead(blobFile(blob.key))).stream, sum));
  requireSum(sum, { bytes: blob.size, sha256: blob.sha256 });
}

async function restoreBlob(files: BackupFiles, blobs: ObjectStore, blob: BackupBlob): Promise<void> {
  const there = await blobs.size(blob.key).catch((error: unknown) => {
    if (error instanceof BlobNotFound) return undefined;
    throw error;
  });
  if (there === blob.size) return;
  const sum = await store(blobs, blob.key, (await files.openRead(blobFile(blob.key))).stream);
  try {
    requireSum(sum, { bytes: blob.size, sha256: blob.sha256 });
  } catch (error) {
    await blobs.delete(blob.key);
    throw new BackupRefused(`${blobFile(blob.key)}: ${(error as Error).message}`);
  }
}

function requireSum(found: FileSum, said: FileSum): void {
  if (found.bytes !== said.bytes)
    throw new BackupRefused(`it has ${found.bytes} bytes, but the manifest says ${said.bytes}.`);
  if (found.sha256 !== said.sha256) throw new BackupRefused("its checksum differs from the manifest.");
}

/** Adds the reason why a file is not usable to the problems. */
async function noted(problems: string[], file: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (error instanceof BlobNotFound) problems.push(`${file}: the file is missing.`);
    else if (error instanceof BackupRefused || isDamage(error)) problems.push(`${file}: ${(error as Error).message}`);
    else throw error;
  }
}

/** Whether an error means damaged content: an error of zlib, or a list that is not JSON. */
function isDamage(error: unknown): boolean {
  return error instanceof SyntaxError || String((error as { code?: unknown }).code).startsWith("Z_");
}
