import { uuidv7 } from "uuidv7";
import { parseExactJson } from "../../domain/exact-json.ts";
import { isFlat, MAX_FLAT_LEVELS } from "../../domain/flat-json.ts";
import { canonicalJson } from "../../domain/flow/definition/content-hash.ts";
import type { Json } from "../../domain/json.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { parseJsonPath, valueAt } from "../../domain/json-path.ts";
import type { HttpChangedConfig } from "../../domain/triggers/trigger.ts";
import { FetchFailed, FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import type { GuardedFetch } from "../../platform/fetch/guarded-fetch.ts";
import { redactSecrets } from "../../platform/logging/redaction.ts";
import { queueFirings } from "../../stores/triggers/firings.ts";
import {
  findTrigger,
  lockTrigger,
  noteSeen,
  noteTriggerError,
  type TriggerOf,
} from "../../stores/triggers/triggers.ts";
import { pollRows, type PollRowsDeps } from "./poll-rows.ts";
import { TriggerFault } from "./start-run.ts";

/** Longest watched value (characters of JSON). */
const MAX_VALUE_CHARS = 64 * 1024;
const LIMITS = { responseBytes: 5 * 1024 * 1024, totalMs: 60_000 };

export interface PollDeps extends PollRowsDeps {
  readonly guardedFetch: GuardedFetch;
  readonly version: string;
}

/** Polls once what a trigger watches. A failure is recorded in the trigger's row. */
export async function pollTrigger(deps: PollDeps, orgId: string, id: string, signal: AbortSignal): Promise<void> {
  const { db } = deps;
  const trigger = await db.org(orgId, (connection) => findTrigger(connection, id));
  if (trigger?.enabled !== true) return;
  try {
    if (trigger.trigger_id === "postgres.new_rows") await pollRows(deps, trigger, signal);
    if (trigger.trigger_id === "http.changed") await pollAddress(deps, trigger, signal);
  } catch (error) {
    const isTheirs = [FetchRefused, FetchFailed, TriggerFault, NodeFailure].some((kind) => error instanceof kind);
    if (signal.aborted || !isTheirs) throw error;
    await db.org(orgId, (connection) => noteTriggerError(connection, id, redactSecrets((error as Error).message)));
  }
}

/** Requests a trigger's URL. If the value has changed, it queues a firing in the transaction that records the value. */
async function pollAddress(deps: PollDeps, trigger: TriggerOf<"http.changed">, signal: AbortSignal): Promise<void> {
  const { db } = deps;
  const { org_id: orgId, id, config } = trigger;
  const value = await ask(deps, config, signal);
  const checked_at = new Date().toISOString();
  await db.orgTransaction(orgId, async (connection) => {
    const now = await lockTrigger(connection, id);
    // The trigger was disabled or changed meanwhile, so the value may no longer be the one it watches.
    if (now?.enabled !== true || now.revision !== trigger.revision) return;
    const { seen } = now;
    if (seen !== null && canonicalJson(seen.value) !== canonicalJson(value)) {
      const payload = { url: config.url, value, previous: seen.value, checked_at };
      await queueFirings(connection, [
        { run_id: uuidv7(), org_id: orgId, trigger_id: id, key: checked_at, depth: 0, payload },
      ]);
    }
    await noteSeen(connection, id, value);
  });
}

async function ask({ guardedFetch, version }: PollDeps, config: HttpChangedConfig, signal: AbortSignal): Promise<Json> {
  const headers = { accept: "application/json, */*;q=0.5", "user-agent": `Millrace/${version}` };
  const answer = await guardedFetch.fetch({ url: config.url, headers, limits: LIMITS, signal });
  if (answer.status < 200 || answer.status > 299)
    throw new TriggerFault(`The server returned status ${answer.status}.`);
  const value = valueIn(answer.body.toString("utf8").toWellFormed().replaceAll("\0", ""), config.json_path);
  if (!isFlat(value)) throw new TriggerFault(`The value is nested deeper than ${MAX_FLAT_LEVELS} levels.`);
  if (JSON.stringify(value).length > MAX_VALUE_CHARS)
    throw new TriggerFault(`The value is longer than ${MAX_VALUE_CHARS} characters: narrow it with json_path.`);
  return value;
}

function valueIn(text: string, path: string): Json {
  let body: Json;
  try {
    body = parseExactJson(text);
  } catch {
    if (path === "$") return text;
    throw new TriggerFault("The response is not JSON, so json_path finds nothing in it.");
  }
  return valueAt(body, parseJsonPath(path) ?? []) ?? null;
}
