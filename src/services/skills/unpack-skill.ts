import { ValidationProblem, invalid } from "../../domain/errors.ts";
import { fileAt, requireWithinLimits, type BundleFile } from "../../domain/skills/bundle.ts";
import { ZipError, zipEntries, type ZipEntry } from "../../platform/zip.ts";

/** Files and folders that an archive may list. */
const MAX_ENTRIES = 2000;

/**
 * Unpacks the archive of a skill. It checks the limits of the whole archive before it unpacks anything, and no entry
 * may unpack to more bytes than it declares. Throws a 422 that names the entry.
 */
export async function unpackSkill(archive: Buffer): Promise<BundleFile[]> {
  try {
    const entries: ZipEntry[] = [];
    let files = 0;
    let bytes = 0;
    for await (const entry of zipEntries(archive)) {
      if (entries.push(entry) > MAX_ENTRIES)
        throw invalid(["body"], `The archive has more than ${MAX_ENTRIES} entries`, "too_many_files");
      if (entry.kind === "folder") continue;
      requireWithinLimits((files += 1), (bytes += entry.size));
      const fault = FAULTS[entry.kind];
      if (fault !== undefined)
        throw new ValidationProblem([{ loc: fileAt(entry.path), msg: fault, type: "value_error" }]);
    }
    const unpacked: BundleFile[] = [];
    for (const entry of entries) {
      if (entry.kind === "file") unpacked.push({ path: entry.path, content: await contentOf(entry) });
    }
    return unpacked;
  } catch (error) {
    if (error instanceof ZipError)
      throw invalid(["body"], `The file is not a readable ZIP archive: ${error.message}`, "zip_invalid");
    throw error;
  }
}

const FAULTS: Readonly<Partial<Record<ZipEntry["kind"], string>>> = {
  symlink: "Symbolic links are not allowed",
  other: "The entry is neither a file nor a folder",
  encrypted: "The archive is protected by a password",
};

async function contentOf(entry: ZipEntry): Promise<Buffer> {
  try {
    return await entry.read();
  } catch (error) {
    if (error instanceof ZipError)
      throw invalid(fileAt(entry.path), `The archive cannot be unpacked: ${error.message}`, "zip_invalid");
    throw error;
  }
}
