import { z } from "zod";
import { BlobNotFound } from "../../platform/blobs/blobs.ts";
import { MANIFEST, type BackupFiles } from "./files.ts";

/** The format of a backup. A program reads only the formats that it knows. */
export const FORMAT = 1;

const MAX_BYTES = 64 * 1024 * 1024;

const sum = { bytes: z.int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) };
const name = z.string().regex(/^[a-z][a-z0-9_]*$/);

const manifestSchema = z.strictObject({
  format: z.literal(FORMAT),
  /** The program that made the backup. */
  millrace: z.string(),
  postgres: z.string(),
  /** The moment of the tables' snapshot. */
  taken_at: z.string(),
  finished_at: z.string(),
  migrations: z.array(z.string()).min(1),
  sequences: z.record(name, z.int()),
  /** Ids of the master keys that secrets and histories need. A backup contains no key. */
  master_keys: z.array(z.string()),
  tables: z.array(z.strictObject({ name, columns: z.array(name).min(1), rows: z.int().min(0), ...sum })),
  blobs: z.strictObject({
    count: z.int().min(0),
    /** Total size of all blobs. */
    total_bytes: z.int().min(0),
    /** Size and checksum of the file that lists the blobs. */
    ...sum,
    /** Keys of blobs that rows refer to but that no longer existed when they were copied. */
    missing: z.array(z.string()),
  }),
});

/** The contents of a backup. It is written last: a backup without it is incomplete. */
export type Manifest = z.infer<typeof manifestSchema>;

/** A blob in the backup's list, one JSON line each. */
export interface BackupBlob {
  readonly key: string;
  readonly size: number;
  readonly sha256: string;
}

/** Thrown if a backup or a location is not usable. The message says why. */
export class BackupRefused extends Error {}

export async function readManifest(files: BackupFiles): Promise<Manifest> {
  const bytes = await files.read(MANIFEST, MAX_BYTES).catch((error: unknown) => {
    if (error instanceof BlobNotFound)
      throw new BackupRefused(`The backup is incomplete: ${MANIFEST}, which is written last, is missing.`);
    throw error;
  });
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw new BackupRefused(`${MANIFEST} is not valid JSON.`, { cause: error });
  }
  const format = z.looseObject({ format: z.number() }).safeParse(value).data?.format;
  if (format !== undefined && format !== FORMAT)
    throw new BackupRefused(`The backup has format ${format}; this Millrace reads format ${FORMAT}.`);
  const parsed = manifestSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new BackupRefused(`${MANIFEST} is not a valid manifest: ${issue?.path.join(".")}: ${issue?.message}.`);
  }
  return parsed.data;
}
