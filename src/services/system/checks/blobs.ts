import { randomUUID } from "node:crypto";
import { readdir, readFile, statfs, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../../config.ts";
import { openBlobStore } from "../../../platform/blobs/blobs.ts";
import { NoCredentials } from "../../../platform/s3/role-credentials.ts";
import { ok, problem, reasonOf, warning, type Finding } from "./finding.ts";

/** An ID that no organisation has. */
const NO_ORGANISATION = "00000000-0000-0000-0000-000000000000";
const MIN_FREE_BYTES = 1024 ** 3;
const NO_ROLE =
  "In the role's trust policy, allow the token (issuer, service account, audience sts.amazonaws.com). Give this process read access to the token file and network access to STS.";

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
      return problem("Blobs", `${name} does not return what was written`, "Ask the operator of the store.");
    // Checks that listing works, because housekeeping needs it.
    for await (const _ of store.list(new Date(0))) break;
    return ok("Blobs", `${name} is writable, readable and listable ${identityOf(config)}`);
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
  if (config.MILLRACE_S3_ACCESS_KEY_ID !== undefined) return "with the keys in MILLRACE_S3_*";
  return config.AWS_WEB_IDENTITY_TOKEN_FILE === undefined
    ? "with the container's credentials"
    : `as ${config.AWS_ROLE_ARN}`;
}

async function directoryOfBlobs(root: string): Promise<Finding> {
  const text = randomUUID();
  try {
    // An empty directory is new and has no tmp folder yet.
    const isNew = (await readdir(root)).length === 0;
    const path = join(root, isNew ? "" : "tmp", `doctor-${randomUUID()}`);
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    try {
      if ((await readFile(path, "utf8")) !== text)
        return problem("Blobs", `${root} does not return what was written`, "Check the file system.");
    } finally {
      await unlink(path);
    }
    const { bavail, bsize } = await statfs(root);
    const free = bavail * bsize;
    const left = `${(free / 1024 ** 3).toFixed(1)} GiB free`;
    return free < MIN_FREE_BYTES
      ? problem("Blobs", `${root}: ${left}`, "Free disk space: uploads and long values fail when the disk is full.")
      : isNew
        ? warning(
            "Blobs",
            `${root} is writable and empty, ${left}`,
            "This is expected before the first start. Later it means that the api and the workers use another directory: check MILLRACE_BLOB_URL.",
          )
        : ok("Blobs", `${root} is writable and readable, ${left}`);
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    return problem(
      "Blobs",
      `${root}: ${missing ? "the directory does not exist" : reasonOf(error as Error)}`,
      missing
        ? "Set MILLRACE_BLOB_URL to the same value as for the api and the workers; the first of them creates the directory."
        : "Give the Millrace user write access.",
    );
  }
}
