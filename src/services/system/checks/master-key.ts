import { join } from "node:path";
import type { Config } from "../../../config.ts";
import { directoryOf } from "../../../platform/blobs/blob-place.ts";
import { existingMasterKeys } from "../../../platform/secrets/master-key.ts";
import { createSecretBox } from "../../../platform/secrets/seal.ts";
import type { Database } from "../../../stores/db.ts";
import { MISSING_KEYS_ADVICE, missingKeys } from "../../secrets/needed-keys.ts";
import { countUnreadable } from "../../secrets/reseal.ts";
import { ok, problem, reasonOf, type Finding } from "./finding.ts";

/** Most webhook secrets that are opened to check the master key. */
const MAX_SECRETS = 100;

export async function masterKey(config: Config, db: Database | undefined): Promise<Finding> {
  const directory = directoryOf(config.MILLRACE_BLOB_URL);
  const from = config.MILLRACE_MASTER_KEY ? "MILLRACE_MASTER_KEY" : join(directory ?? "", "master.key");
  const keys = await existingMasterKeys(config.MILLRACE_MASTER_KEY, directory).catch((error: Error) => error);
  if (keys instanceof Error)
    return problem("Master key", reasonOf(keys), "Restore the key that encrypted the stored secrets.");
  if (!keys) {
    const missing = db && (await missingKeys(db, from));
    if (missing !== undefined) return problem("Master key", missing, MISSING_KEYS_ADVICE);
    return problem(
      "Master key",
      `${from} has no master key`,
      "Set MILLRACE_MASTER_KEY, or start an api or worker, which creates a key there.",
    );
  }
  const unread = db ? await countUnreadable(db, createSecretBox(keys), MAX_SECRETS).catch(() => null) : null;
  if (unread !== null && unread > 0)
    return problem(
      "Master key",
      `${from} cannot decrypt ${unread} of the stored secrets`,
      "Add the key that encrypted them to MILLRACE_MASTER_KEY; `millrace secrets reseal` lists them.",
    );
  return ok("Master key", `${from}${unread === 0 ? ", decrypts the stored secrets" : ""}`);
}
