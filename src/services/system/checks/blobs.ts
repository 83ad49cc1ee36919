import { randomUUID } from "node:crypto";
import { readdir, readFile, statfs, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../../config.ts";
import { openBlobStore } from "../../../platform/blobs/blobs.ts";
import { NoCredentials } from "../../../platform/s3/role-credentials.ts";
import { ok, problem, reasonOf, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

/** No organisation has it. */
const NO_ORGANISATION = "00000000-0000-0000-0000-000000000000";
const MIN_FREE_BYTES = 1024 ** 3;
const NO_ROLE =
  "Let the role trust who has the token (issuer, service account, audience sts.amazonaws.com), let this process read the token's file, and reach STS.";

export async function blobs(config: Config): Promise<Finding> {
  const place = config.MILLRACE_BLOB_URL;
  return place.kind === "file" ? directoryOfBlobs(place.directory) : bucketOfBlobs(config, `s3://${place.bucket}`);
}

async function bucketOfBlobs(config: Config, name: string): Promise<Finding> {
  const store = await openBlobStore(config);
  const content = Buffer.from(randomUUID());
  try {
    const { key } = await store.put(NO_ORGANISATION, content, { maxBytes: content.length });
    const read = await store.read(key, content.length).finally(() => store.delete(key));
    if (!read.equals(content))
      return problem("Blobs", `${name} does not give back what was written`, "Ask its operator.");
    // Housekeeping lists.
    for await (const _ of store.list(new Date(0))) break;
    return ok("Blobs", `${name} can be written, read and listed ${identityOf(config)}`);
  } catch (error) {
    if (error instanceof NoCredentials) return problem("Blobs", `${name}: ${error.message}`, NO_ROLE);
    const advice =
      "Check MILLRACE_BLOB_URL (bucket, endpoint, region), the keys in MILLRACE_S3_* or the role in AWS_*, and that they may get, put, delete and list objects and abort uploads.";
    return problem("Blobs", `${name}: ${(error as Error).message}`, advice);
  } finally {
    await store.close();
  }
}

function identityOf(config: Config): string {
  if (config.MILLRACE_S3_ACCESS_KEY_ID !== undefined) return "with the keys of MILLRACE_S3_*";
  return config.AWS_WEB_IDENTITY_TOKEN_FILE === undefined
    ? "as what the container is given"
    : `as ${config.AWS_ROLE_ARN}`;
}

async function directoryOfBlobs(root: string): Promise<Finding> {
  const text = randomUUID();
  try {
    // A directory in which nothing was ever stored has no tmp yet.
    const isNew = (await readdir(root)).length === 0;
    const path = join(root, isNew ? "" : "tmp", `doctor-${randomUUID()}`);
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    try {
      if ((await readFile(path, "utf8")) !== text)
        return problem("Blobs", `${root} does not give back what was written`, "Check the file system.");
    } finally {
      await unlink(path);
    }
    const { bavail, bsize } = await statfs(root);
    const free = bavail * bsize;
    const left = `${(free / 1024 ** 3).toFixed(1)} GiB free`;
    return free < MIN_FREE_BYTES
      ? problem("Blobs", `${root}: ${left}`, "Make room: uploads and long values fail when it is full.")
      : isNew
        ? warning(
            "Blobs",
            `${root} can be written and is empty, ${left}`,
            "Right before the first start. Afterwards it is not the directory that the api and the workers have: see MILLRACE_BLOB_URL.",
          )
        : ok("Blobs", `${root} can be written and read, ${left}`);
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    return problem(
      "Blobs",
      `${root}: ${missing ? "it is not there" : reasonOf(error as Error)}`,
      missing
        ? "Set MILLRACE_BLOB_URL as the api and the workers have it; the first of them makes the directory."
        : "Let the user that runs Millrace write to it.",
    );
  }
}
