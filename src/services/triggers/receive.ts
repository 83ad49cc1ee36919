import { createHash } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { Problem, invalid } from "../../domain/errors.ts";
import type { Json } from "../../domain/json.ts";
import { verifyInbound } from "../../domain/triggers/verify.ts";
import { isSecretHeader } from "../../platform/logging/redaction.ts";
import type { SecretBox } from "../../platform/secrets/seal.ts";
import type { Database } from "../../stores/db.ts";
import { recordFiring } from "../../stores/triggers/firings.ts";
import type { TriggerOf } from "../../stores/triggers/triggers.ts";
import { CALL_HEADER, callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { requireRun } from "../runs/require-run.ts";
import { lasting, noteFault, startTriggeredRun } from "./start-run.ts";
import { placeOfFiring } from "./chain.ts";
import type { StartRunDeps } from "./start-run.ts";
import { secretContext } from "./triggers.ts";

/** A request to a trigger's address. */
export interface ReceivedRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  /** The bytes parsed as JSON. */
  readonly body: Json;
}

/**
 * Headers with credentials or signatures, by words in their names; flows do not get them. Telegram's is
 * x-telegram-bot-api-secret-token, GitLab's x-gitlab-token.
 */
const KEPT_BACK =
  /authorization|cookie|signature|token|secret|password|credential|api-?_?key|auth-?_?key|access-?_?key|x-auth|hmac|digest|jwt|session/;

/**
 * Starts the run of a request, or finds the run that the same delivery started before. No refusal repeats any part of
 * the body. Throws 401 for a request without the required signature, 409, 422 and 429.
 */
export async function receiveWebhook(
  deps: StartRunDeps & { readonly secrets: SecretBox },
  trigger: TriggerOf<"webhook">,
  { headers, query, bytes, body }: ReceivedRequest,
): Promise<{ run_id: string; repeated: boolean }> {
  const { id, org_id, secret } = trigger;
  if (!trigger.enabled) throw new Problem("conflict", "The trigger is disabled.");
  const { verification } = trigger.config;
  const opened = secret === null ? "" : deps.secrets.open(secret, secretContext(id));
  const verdict = verifyInbound(verification, opened, { headers, body: bytes });
  if ("problem" in verdict) throw new Problem("unauthorized", `The request is not accepted: ${verdict.problem}.`);

  const wanted = uuidv7();
  // Hashed, because a key may be of any length.
  const key = verdict.key === null ? wanted : createHash("sha256").update(verdict.key).digest("hex");
  const caller = callerOfRequest(deps.secrets, org_id, headers);
  const run_id = await deps.db.org(org_id, async (connection) => {
    const place = await placeOfFiring(connection, caller, wanted, deps.limits.max_nested_runs);
    const { depth = 0, root } = place ?? {};
    return recordFiring(connection, { run_id: wanted, org_id, trigger_id: id, key, depth, root });
  });
  const repeated = run_id !== wanted;
  // A run that was started before stays, whatever the trigger makes of such a delivery by now.
  if (repeated && (await isThere(deps.db, org_id, run_id))) return { run_id, repeated };
  const visible = Object.fromEntries(
    Object.entries(headers).filter(([name]) => name !== CALL_HEADER && !KEPT_BACK.test(name) && !isSecretHeader(name)),
  );
  try {
    await startTriggeredRun(deps, trigger, run_id, { body, headers: visible, query });
  } catch (error) {
    await noteFault(deps.db, trigger, run_id, lasting(error));
    // Whoever sends it is to try again later, or to ask who can change that.
    if (error instanceof Problem && error.status === 429) throw error;
    throw invalid(["body"], "The trigger starts no run with this: its last_error says why");
  }
  return { run_id, repeated };
}

async function isThere(db: Database, orgId: string, runId: string): Promise<boolean> {
  return requireRun(db, orgId, runId).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Problem) return false;
      throw error;
    },
  );
}
