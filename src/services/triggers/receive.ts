import { createHash } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { Problem, conflict, invalid, required } from "../../domain/errors.ts";
import type { Json } from "../../domain/json.ts";
import { verifyInbound } from "../../domain/triggers/verify.ts";
import { isSecretHeader } from "../../platform/logging/redaction.ts";
import type { SecretBox } from "../../platform/secrets/seal.ts";
import { recordFiring, findFiring } from "../../stores/triggers/firings.ts";
import type { TriggerOf, TriggerRow } from "../../stores/triggers/triggers.ts";
import { CALL_HEADER, callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { findRun } from "../runs/require-run.ts";
import { keepFailed, startFiring, type StartableFiring, type StartRunDeps } from "./start-run.ts";
import { placeOfFiring } from "./chain.ts";
import { secretContext } from "../../stores/secrets/sealed.ts";

/** A request to a trigger's URL. */
interface ReceivedRequest {
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  /** The bytes parsed as JSON. */
  readonly body: Json;
}

/**
 * Words in the names of headers with credentials or signatures, which flows do not receive. Telegram's is
 * x-telegram-bot-api-secret-token, GitLab's x-gitlab-token.
 */
const KEPT_BACK =
  /authorization|cookie|signature|token|secret|password|credential|api-?_?key|auth-?_?key|access-?_?key|x-auth|hmac|digest|jwt|session/;

/**
 * Starts the run of a request, or finds the run that the same delivery started before. No error quotes any part of the
 * body. Throws 401 for a request without the required signature, 409, 422 and 429.
 */
export async function receiveWebhook(
  deps: StartRunDeps & { readonly secrets: SecretBox },
  trigger: TriggerOf<"webhook">,
  { headers, query, bytes, body }: ReceivedRequest,
): Promise<{ run_id: string; repeated: boolean }> {
  const { id, org_id, secret } = trigger;
  if (!trigger.enabled) throw conflict("The trigger is disabled.");
  const { verification } = trigger.config;
  const opened = secret === null ? "" : deps.secrets.open(secret, secretContext("triggers", id, "secret"));
  const verdict = verifyInbound(verification, opened, { headers, body: bytes });
  if ("problem" in verdict) throw new Problem("unauthorized", `The request was rejected: ${verdict.problem}.`);

  const wanted = uuidv7();
  // Hashed, because a key may be of any length.
  const key = verdict.key === null ? wanted : createHash("sha256").update(verdict.key).digest("hex");
  const caller = callerOfRequest(deps.secrets, org_id, headers);
  const { run_id, state } = await deps.db.org(org_id, async (connection) => {
    const place = await placeOfFiring(connection, caller, wanted, deps.limits.max_nested_runs);
    return recordFiring(connection, { run_id: wanted, org_id, trigger_id: id, key, ...place });
  });
  // A delivery whose firing failed before is not a repetition, because it may succeed now.
  const repeated = run_id !== wanted && state !== "failed";
  // A run that the delivery already started is returned, even if the trigger would now reject the delivery.
  if (repeated && (await findRun(deps.db, org_id, run_id)) !== null) return { run_id, repeated };
  const visible = Object.fromEntries(
    Object.entries(headers).filter(([name]) => name !== CALL_HEADER && !KEPT_BACK.test(name) && !isSecretHeader(name)),
  );
  const fault = await fire(deps, { trigger, run_id, payload: { body, headers: visible, query } });
  if (fault !== null) throw invalid(["body"], "This request starts no run: see the trigger's last_error");
  return { run_id, repeated };
}

/**
 * Starts the run of a firing for a waiting caller. Returns null, or the reason why no run was started. Throws the
 * Problem of a reached limit, so that the caller can retry later or have the limit raised.
 */
async function fire(deps: StartRunDeps, firing: StartableFiring): Promise<string | null> {
  const started = await startFiring(deps, firing).catch(async (error: unknown) => {
    if (error instanceof Problem) await keepFailed(deps, firing, error.message);
    throw error;
  });
  if ("run" in started) return null;
  const { cause, message } = started.fault;
  if (cause instanceof Problem && cause.status === 429) throw cause;
  return message;
}

interface RepeatRequest {
  readonly firing_id: string;
  /** The ID of the new firing and of its run. */
  readonly run_id: string;
  /** The run that sent the request, if a run did. */
  readonly caller: string | undefined;
  /** The key of the request, if any, whose quotas count the run. */
  readonly key_id: string | null;
}

/**
 * Fires a trigger again with the payload of an earlier firing and the trigger's current expressions, even if it is
 * disabled. Throws 404, 409 while the earlier firing waits or if its payload is not kept, 422 and 429.
 */
export async function repeatFiring(
  deps: StartRunDeps,
  trigger: TriggerRow,
  { firing_id, run_id, caller, key_id }: RepeatRequest,
): Promise<void> {
  const { org_id, id } = trigger;
  const payload = await deps.db.org(org_id, async (connection) => {
    const firing = required(await findFiring(connection, id, firing_id), "firing");
    if (firing.state === "pending") throw conflict("The firing is still pending: its run may still start.");
    const unkept =
      "The firing's payload was not kept, because it is long or the flow masks values. Rerun its run instead.";
    if (firing.payload === null) throw conflict(unkept);
    const place = await placeOfFiring(connection, caller, run_id, deps.limits.max_nested_runs);
    const key = `repeat ${run_id}`;
    await recordFiring(connection, { run_id, org_id, trigger_id: id, key, ...place, repeat_of: firing_id });
    return firing.payload;
  });
  const fault = await fire(deps, { trigger, run_id, payload, key_id });
  if (fault !== null) throw invalid(["path", "firing_id"], fault);
}
