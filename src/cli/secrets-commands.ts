import type { Command } from "commander";
import { loadSealingConfig } from "../config.ts";
import { directoryOf } from "../platform/blobs/blob-place.ts";
import { existingMasterKeys } from "../platform/secrets/master-key.ts";
import { createSecretBox } from "../platform/secrets/seal.ts";
import { resealSecrets } from "../services/secrets/reseal.ts";
import type { ResealReport } from "../services/secrets/reseal.ts";
import { CommandFailure } from "./failure.ts";
import { show, warnOfMistakes, withDatabase } from "./options.ts";

/** `secrets`: it acts on the database itself, with the master keys of the api and the workers. */
export function addSecretsCommands(program: Command): void {
  const secrets = program.command("secrets").description("stored secrets: of webhook subscriptions and of connections");
  withDatabase(
    secrets
      .command("reseal")
      .description("encrypt those anew that are under an earlier key of MILLRACE_MASTER_KEY (else MILLRACE_BLOB_URL)"),
    async (database, options) => {
      warnOfMistakes();
      const keys = await requireMasterKeys();
      const report = await resealSecrets(database, createSecretBox(keys));
      show(options.json, report, () => describe(report, keys.length > 1));
      if (report.unreadable.length > 0)
        throw new CommandFailure(
          "Put the key they were encrypted under into MILLRACE_MASTER_KEY as well and repeat this, or set these secrets again; a previous secret is removed here once its time is over.",
        );
    },
  );
}

/** The keys as they are configured; a newly made key would open nothing. */
async function requireMasterKeys(): Promise<Buffer[]> {
  const { MILLRACE_MASTER_KEY, MILLRACE_BLOB_URL } = loadSealingConfig();
  const keys = await existingMasterKeys(MILLRACE_MASTER_KEY, directoryOf(MILLRACE_BLOB_URL));
  if (keys === undefined)
    throw new CommandFailure(
      "There is no master key: set MILLRACE_MASTER_KEY, or MILLRACE_BLOB_URL, as the api and the workers have it.",
      2,
    );
  return keys;
}

function describe({ resealed, current, unreadable }: ResealReport, severalKeys: boolean): string[] {
  const lines = [`${resealed} encrypted anew, ${current} under the present key now`];
  if (unreadable.length > 0)
    return [
      ...lines,
      `${unreadable.length} could not be opened, so that no key can be removed yet:`,
      ...unreadable.map((each) => `  ${each.table} ${each.id}, ${each.column}: ${each.reason}`),
    ];
  if (severalKeys) lines.push("none is left under an earlier key: it can be removed from the configuration");
  return lines;
}
