import type { Command } from "@commander-js/extra-typings";
import { loadSealingConfig } from "../../config.ts";
import { directoryOf } from "../../platform/blobs/blob-place.ts";
import { existingMasterKeys } from "../../platform/secrets/master-key.ts";
import { createSecretBox } from "../../platform/secrets/seal.ts";
import { resealSecrets, type ResealReport } from "../../services/secrets/reseal.ts";
import { CommandFailure } from "../failure.ts";
import { show, warnOfMistakes, withDatabase } from "../options.ts";

/** `secrets`: it uses the database directly, with the master keys of the api and the workers. */
export function addSecretsCommands(program: Command): void {
  const secrets = program.command("secrets").description("manage stored secrets of webhooks and connections");
  withDatabase(
    secrets
      .command("reseal")
      .description("re-encrypt secrets stored under an older key of MILLRACE_MASTER_KEY (else MILLRACE_BLOB_URL)"),
    async (database, options) => {
      warnOfMistakes();
      const keys = await requireMasterKeys();
      const report = await resealSecrets(database, createSecretBox(keys));
      show(options.json, report, () => describe(report, keys.length > 1));
      if (report.unreadable.length > 0)
        throw new CommandFailure(
          "Add the key they were encrypted with to MILLRACE_MASTER_KEY and repeat this command, or set these secrets again. A previous secret is deleted once its time is over.",
        );
    },
  );
}

/** The configured keys; a newly created key would open nothing. */
async function requireMasterKeys(): Promise<Buffer[]> {
  const { MILLRACE_MASTER_KEY, MILLRACE_BLOB_URL } = loadSealingConfig();
  const keys = await existingMasterKeys(MILLRACE_MASTER_KEY, directoryOf(MILLRACE_BLOB_URL));
  if (keys === undefined)
    throw new CommandFailure(
      "There is no master key: set MILLRACE_MASTER_KEY, or MILLRACE_BLOB_URL, to the same value as for the api and the workers.",
      2,
    );
  return keys;
}

function describe({ resealed, current, unreadable }: ResealReport, severalKeys: boolean): string[] {
  const lines = [`${resealed} re-encrypted, ${current} now under the current key`];
  if (unreadable.length > 0)
    return [
      ...lines,
      `${unreadable.length} could not be decrypted; keep all keys for now:`,
      ...unreadable.map((each) => `  ${each.table} ${each.id}, ${each.column}: ${each.reason}`),
    ];
  if (severalKeys) lines.push("no secret is left under an older key: you can remove older keys from the configuration");
  return lines;
}
