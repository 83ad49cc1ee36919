import type { Config } from "../../../config.ts";
import type { Database } from "../../../stores/db.ts";
import { withClient } from "../../../temporal/examine.ts";
import { examineHouse } from "../../../temporal/examine-house.ts";
import { ok, reasonOf, warning, type Finding } from "./finding.ts";
import { converterOf } from "./temporal.ts";

const PART = "House";
/** The attempt from which a purge counts as failing; a worker that stops or dies causes a second one. */
const FAILS_FROM = 3;

/** Which purges run and which failed in the latest rounds. */
export async function house(config: Config, db: Database): Promise<Finding> {
  try {
    const rounds = await withClient(config, await converterOf(config, db), (client) =>
      examineHouse(client, config.MILLRACE_TASK_QUEUE),
    );
    const failed = rounds.flatMap(({ round, failure }) => (failure === null ? [] : [`${failure} (every ${round})`]));
    failed.push(
      ...rounds.flatMap(({ running: at }) => ((at?.attempt ?? 0) < FAILS_FROM ? [] : [`failing: ${at?.purge}`])),
    );
    const running = rounds.flatMap(({ running: at }) =>
      at === null ? [] : [at.attempt > 1 ? `${at.purge}, attempt ${at.attempt}` : at.purge],
    );
    const now = running.length === 0 ? "no purge is running" : `running: ${running.join("; ")}`;
    if (failed.length === 0) return ok(PART, `the latest purges succeeded; ${now}`);
    return warning(
      PART,
      `purges ${failed.join("; ")}; ${now}`,
      "The next round retries them. If they fail again, see the worker logs for the reason.",
    );
  } catch (error) {
    return warning(PART, `could not read the latest purges: ${reasonOf(error as Error)}`, "Retry.");
  }
}
