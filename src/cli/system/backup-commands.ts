import { join } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { loadBackupConfig, loadSealingConfig, type BackupConfig } from "../../config.ts";
import { PACKAGE_ROOT } from "../../dev/package-root.ts";
import { directoryOf, parseBlobPlace, type BlobPlace } from "../../platform/blobs/blob-place.ts";
import { DirectoryUnusable, openBlobStore } from "../../platform/blobs/blobs.ts";
import { existingMasterKeys } from "../../platform/secrets/master-key.ts";
import { masterKeyId } from "../../platform/secrets/seal.ts";
import { openBackupFiles, type BackupFiles } from "../../services/backup/files.ts";
import { BackupRefused, type Manifest } from "../../services/backup/manifest.ts";
import { checkBackup, restoreBackup } from "../../services/backup/restore-backup.ts";
import { takeBackup } from "../../services/backup/take-backup.ts";
import { VERSION } from "../../version.ts";
import { CommandFailure } from "../failure.ts";
import { databaseUrlOf, show, warnOfMistakes, type DatabaseOptions } from "../options.ts";
import { namingPostgres } from "../unreachable.ts";

const PLACE = "a directory, or s3://bucket/prefix?endpoint=https://host:port&region=name";
const WHERE_KEYS_ARE = "They are in MILLRACE_MASTER_KEY, or in master.key in the blob directory: keep a copy elsewhere";
/** Most names of blobs that are printed; all are in the manifest. */
const MOST_NAMES = 10;
const migrations = join(PACKAGE_ROOT, "migrations");

/** `backup` and `restore`: they use the database and the blobs directly. */
export function addBackupCommands(program: Command): void {
  addCommand(program, "backup")
    .description("back up the database and the blobs (MILLRACE_BLOB_URL) while api and workers keep running")
    .argument("<place>", PLACE)
    .action(async (place, options) => {
      const config = loadBackupConfig();
      const url = databaseUrlOf(options);
      const manifest = await withFiles(place, config, { readOnly: false }, async (files) => {
        const blobs = await openBlobStore(config);
        try {
          return await namingPostgres(url, () => takeBackup({ url, blobs, version: VERSION }, files));
        } finally {
          await blobs.close();
        }
      });
      const { missing } = manifest.blobs;
      show(options.json, summaryOf(manifest), () => [
        `Backup of ${manifest.taken_at} in ${place}: ${contentOf(manifest)}`,
        ...keysNeeded(manifest),
        ...(missing.length === 0
          ? []
          : [
              `${missing.length === 1 ? "1 blob that rows refer to is" : `${missing.length} blobs that rows refer to are`} missing: deleted during the backup, or earlier`,
              ...missing.slice(0, MOST_NAMES).map((key) => `  ${key}`),
            ]),
      ]);
    });
  addCommand(program, "restore")
    .description("restore a backup into an empty database and MILLRACE_BLOB_URL; stop api and workers first")
    .argument("<place>", PLACE)
    .option("--check", "verify the backup without writing anything")
    .action(async (place, options) => {
      const config = loadBackupConfig();
      await withFiles(place, config, { readOnly: true }, async (files) => {
        await (options.check === true ? check(files, place, options) : restore(files, config, options));
      });
    });
}

async function check(files: BackupFiles, place: string, { json }: DatabaseOptions): Promise<void> {
  const { manifest, problems } = await checkBackup(files, migrations);
  const unknown_keys = await unknownKeys(manifest);
  show(json, { whole: problems.length === 0, problems, unknown_keys, ...summaryOf(manifest) }, () => [
    `Backup of ${manifest.taken_at} in ${place}: ${contentOf(manifest)}`,
    ...keysNeeded(manifest, unknown_keys),
    ...(problems.length === 0 ? ["The backup is complete."] : problems),
  ]);
  if (problems.length > 0) throw new CommandFailure(json === true ? "" : "The backup is incomplete.");
}

async function restore(files: BackupFiles, config: BackupConfig, options: DatabaseOptions): Promise<void> {
  const url = databaseUrlOf(options);
  // Checked first, so that the error does not appear after hours.
  loadSealingConfig();
  const blobs = await openBlobStore(config);
  try {
    const manifest = await namingPostgres(url, () => restoreBackup(files, { url, blobs, migrations }));
    const unknown_keys = await unknownKeys(manifest);
    show(options.json, { unknown_keys, ...summaryOf(manifest) }, () => [
      `Restored as of ${manifest.taken_at}: ${contentOf(manifest)}`,
      ...keysNeeded(manifest, unknown_keys),
      "Start api and workers, then check: millrace doctor",
    ]);
  } finally {
    await blobs.close();
  }
}

function addCommand(program: Command, name: string) {
  return program
    .command(name)
    .option("--database-url <url>", "Postgres URL (DATABASE_URL, else .millrace/dev.json)")
    .option("--json", "print JSON");
}

async function withFiles<T>(
  text: string,
  config: BackupConfig,
  mode: { readonly readOnly: boolean },
  work: (files: BackupFiles) => Promise<T>,
): Promise<T> {
  const credentials = {
    ...config,
    MILLRACE_S3_ACCESS_KEY_ID: config.MILLRACE_BACKUP_S3_ACCESS_KEY_ID ?? config.MILLRACE_S3_ACCESS_KEY_ID,
    MILLRACE_S3_SECRET_ACCESS_KEY: config.MILLRACE_BACKUP_S3_SECRET_ACCESS_KEY ?? config.MILLRACE_S3_SECRET_ACCESS_KEY,
  };
  warnOfMistakes();
  const files = await openBackupFiles(placeOf(text), credentials, mode).catch((error: unknown) => {
    throw error instanceof DirectoryUnusable ? new CommandFailure(error.message, 2, { cause: error.cause }) : error;
  });
  try {
    return await work(files);
  } catch (error) {
    if (error instanceof BackupRefused)
      throw new CommandFailure(`${text}: ${error.message}`, 1, { cause: error.cause });
    throw error;
  } finally {
    await files.close();
  }
}

function placeOf(text: string): BlobPlace {
  // An unset variable of a script would mean the current folder.
  if (text.trim() === "") throw new CommandFailure(`Pass the location of the backup: ${PLACE}.`, 2);
  try {
    return parseBlobPlace(text);
  } catch (error) {
    throw new CommandFailure(`${text} is not a valid backup location: ${(error as Error).message}.`, 2);
  }
}

/** IDs of master keys that the backup needs and this environment lacks. */
async function unknownKeys({ master_keys }: Manifest): Promise<string[]> {
  const { MILLRACE_MASTER_KEY, MILLRACE_BLOB_URL } = loadSealingConfig();
  const keys = (await existingMasterKeys(MILLRACE_MASTER_KEY, directoryOf(MILLRACE_BLOB_URL))) ?? [];
  const known = keys.map(masterKeyId);
  return master_keys.filter((id) => !known.includes(id));
}

function summaryOf({ tables, blobs: { missing, ...blobs }, ...rest }: Manifest): object {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return { ...rest, tables: tables.length, rows, blobs: { ...blobs, missing: missing.length } };
}

function contentOf({ tables, blobs }: Manifest): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return `${tables.length} tables with ${rows} rows, ${blobs.count} blobs with ${blobs.total_bytes} bytes`;
}

function keysNeeded({ master_keys }: Manifest, unknown: readonly string[] = []): string[] {
  if (master_keys.length === 0) return [];
  const lines = [`Master keys required for this backup, and not part of it: ${master_keys.join(", ")}`, WHERE_KEYS_ARE];
  if (unknown.length > 0)
    lines.push(`${unknown.join(", ")} is not configured: api and workers do not start without it`);
  return lines;
}
