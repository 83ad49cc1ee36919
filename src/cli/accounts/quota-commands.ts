import { InvalidArgumentError, type Command } from "@commander-js/extra-typings";
import { QUOTAS, type Quota } from "../../domain/accounts/quotas.ts";
import { limitsOf, listQuotas, lockQuotas, setQuotas } from "../../stores/quotas/quotas.ts";
import { quotaStatus } from "../../services/accounts/quotas.ts";
import type { Database } from "../../stores/db.ts";
import { organisationOf, withOrganisation } from "./account-commands.ts";
import { recordCommand } from "../accounts.ts";
import { CommandFailure } from "../failure.ts";
import { show, table, withDatabase } from "../options.ts";

const NONE = "none";

/** `quotas`: the quotas of organisations. It uses the database directly, because an organisation does not set its own quotas. */
export function addQuotaCommands(program: Command): void {
  const quotas = program.command("quotas").description("manage the quotas of an organisation");
  const listed = async (database: Database, org_id: string, json: boolean | undefined): Promise<void> => {
    // The environment of api and workers may set quotas for all organisations, which this process does not know.
    const all = await database.orgTransaction(org_id, (db) => quotaStatus(db, org_id, null, {}));
    show(json, { org_id, quotas: all }, () =>
      table([
        ["QUOTA", "LIMIT", "USED", "RESETS"],
        ...all.map(({ quota, limit, used, resets_at }) => [
          quota,
          limit === null ? "the installation's" : String(limit),
          used === null ? "" : String(used),
          resets_at ?? "",
        ]),
      ]),
    );
  };
  withDatabase(
    withOrganisation(quotas.command("list").description("show an organisation's quotas and their use")),
    async (database, options) => listed(database, await organisationOf(database, options.org), options.json),
  );
  const set = quotas.command("set").description("set quotas of an organisation; other quotas stay as they are");
  for (const quota of QUOTAS)
    set.option(
      `--${quota.replaceAll("_", "-")} <most>`,
      `a number, or \`${NONE}\` to use the installation's setting`,
      readLimit(quota),
    );
  withDatabase(withOrganisation(set), async (database, { org, json, ...given }) => {
    const org_id = await organisationOf(database, org);
    // Options that are added in a loop have no types.
    const mostOf = (quota: Quota) =>
      (given as Readonly<Record<string, unknown>>)[optionOf(quota)] as number | typeof NONE | undefined;
    if (QUOTAS.every((quota) => mostOf(quota) === undefined))
      throw new CommandFailure("Pass a quota to set, such as --concurrent-runs 100.", 2);
    const limits = Object.fromEntries(
      QUOTAS.map((quota) => {
        const most = mostOf(quota);
        return [quota, most === NONE ? null : most];
      }),
    );
    await database.orgTransaction(org_id, async (db) => {
      const before = await lockQuotas(db, null);
      await setQuotas(db, org_id, null, limits);
      const target = { type: "organisation", id: org_id };
      const after = limitsOf(await listQuotas(db), null);
      await recordCommand(db, org_id, "quotas set", { target, before, after });
    });
    await listed(database, org_id, json);
  });
}

/** The name of the option's value in Commander. */
const optionOf = (quota: Quota): string => quota.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** A text, because Commander replaces null by an empty text. */
function readLimit(quota: Quota): (text: string) => number | typeof NONE {
  const format = quota === "model_usd_month" ? /^\d{1,9}(\.\d{1,6})?$/ : /^\d{1,15}$/;
  return (text) => {
    if (text === NONE) return NONE;
    // With 0 slots a node would wait forever.
    if (format.test(text) && !(quota === "concurrent_nodes" && Number(text) === 0)) return Number(text);
    throw new InvalidArgumentError(
      quota === "model_usd_month"
        ? `Pass a number of dollars, or \`${NONE}\`.`
        : `Pass a whole number${quota === "concurrent_nodes" ? " above 0" : ""}, or \`${NONE}\`.`,
    );
  };
}
