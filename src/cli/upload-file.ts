import { openAsBlob } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { basename } from "node:path";
import { CommandFailure } from "./failure.ts";

/** A file to upload, which is read while it is sent. */
export interface UploadFile {
  readonly name: string;
  readonly content: Blob;
}

/** Opens a file. Throws a CommandFailure that names the file if it cannot be read. */
export async function openUploadFile(path: string): Promise<UploadFile> {
  try {
    // openAsBlob does not say what is wrong, and accepts a folder as a file.
    await access(path, constants.R_OK);
    if (!(await stat(path)).isFile()) throw new Error("it is not a file");
    return { name: basename(path), content: await openAsBlob(path) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandFailure(`Cannot read ${path}: ${why}`, 2, { cause: error });
  }
}
