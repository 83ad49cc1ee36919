import type { Json, JsonObject } from "../../src/domain/json.ts";
import { ActionFailed, ActionRefused, isRepeatable } from "../../src/domain/providers/action.ts";
import type { ActionToExecute, ExecuteAction } from "../../src/domain/providers/action-run.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { FetchFailed } from "../../src/platform/fetch/guarded-fetch-errors.ts";
import { maskJson } from "../../src/platform/logging/mask-json.ts";
import { createMaskValues } from "../../src/platform/logging/mask-values.ts";
import type { Parts } from "../../src/services/parts.ts";
import type { CheckInputs } from "../../src/services/providers/action-inputs.ts";
import { readTexts } from "../../src/domain/providers/read-texts.ts";
import { findAction, findProvider } from "../../src/services/providers/providers.ts";
import type { ConnectionResolver, ResolvedConnection } from "../../src/services/providers/resolve-connection.ts";
import { beginCall, forgetCall } from "../../src/stores/providers/action-runs.ts";
import { fetchFailure } from "../nodes/http-response.ts";
import type { ActionExecutor } from "./action-call.ts";

export interface ActionDeps extends Parts<"db"> {
  readonly connections: ConnectionResolver;
  readonly checkInputs: CheckInputs;
  /** Executes actions that are one HTTP request. */
  readonly http: ActionExecutor;
  /** Executes all other actions, by provider ID, or by source if the provider is imported. */
  readonly executors: Readonly<Record<string, ActionExecutor>>;
}

export function createExecuteAction(deps: ActionDeps): ExecuteAction {
  const { db } = deps;
  return async (wanted) => {
    const { org_id, provider_id, action_id, idempotency_key, signal, dry_run = false } = wanted;
    const [provider, action] = await db.org(org_id, async (connection) => {
      const found = await findProvider(connection, provider_id);
      return [found, found && (await findAction(connection, found, action_id))] as const;
    });
    if (!provider || !action)
      throw new NodeFailure("action_not_found", `Provider ${provider_id} has no action ${action_id}.`);
    const given = wanted.rendered ? readTexts(action.input_schema, wanted.inputs) : wanted.inputs;
    const inputs = await requireInputs(given, (value) => deps.checkInputs(org_id, provider, action, value));
    const connection = await resolve(deps.connections, wanted, action.requires_connection);
    const executor = action.request
      ? deps.http
      : deps.executors[provider.source === "builtin" ? provider_id : provider.source];
    if (executor === undefined) throw new Error(`nothing executes the actions of ${provider_id}`);

    const once = !isRepeatable(action.annotations) && !dry_run;
    let called = false;
    async function begin(): Promise<void> {
      if (!once) return;
      if (!(await db.org(org_id, (connection) => beginCall(connection, org_id, idempotency_key))))
        throw outcomeUnknown();
      called = true;
    }
    try {
      const version = wanted.version === undefined ? {} : { version: wanted.version };
      const call = { org_id, action, inputs, connection, dry_run, idempotency_key, signal, begin, ...version };
      const answer = await executor(call);
      const mask = createMaskValues(connection?.secrets ?? []);
      return { ...answer, outputs: maskJson(answer.outputs, mask) };
    } catch (thrown) {
      if (called && hadNoEffect(thrown)) await db.org(org_id, (connection) => forgetCall(connection, idempotency_key));
      else if (called && isUnclear(thrown, signal)) throw outcomeUnknown(thrown);
      const failure = toFailure(thrown);
      if (!(failure instanceof NodeFailure)) throw failure;
      throw presentable(failure, connection, !called || hadNoEffect(thrown));
    }
  };
}

async function requireInputs(
  inputs: Json,
  check: (inputs: Json) => Promise<ReadonlyArray<{ path: ReadonlyArray<string | number>; message: string }>>,
): Promise<JsonObject> {
  const issues = await check(inputs);
  if (issues.length === 0) return inputs as JsonObject;
  const places = issues.slice(0, 20).map(({ path, message }) => `${["inputs", ...path].join(".")} ${message}`);
  throw new NodeFailure("invalid_action_inputs", `These inputs are not valid for the action: ${places.join("; ")}.`);
}

async function resolve(
  connections: ConnectionResolver,
  { org_id, provider_id, connection_id }: ActionToExecute,
  required: boolean,
): Promise<ResolvedConnection | null> {
  if (connection_id === null) {
    if (!required) return null;
    throw new NodeFailure("connection_required", `Actions of ${provider_id} need a connection.`);
  }
  const connection = await connections.resolve(org_id, connection_id);
  if (connection.provider.provider_id === provider_id) return connection;
  const message = `The connection "${connection.name}" is of provider ${connection.provider.provider_id}, not of ${provider_id}.`;
  throw new NodeFailure("connection_of_another_provider", message);
}

/** Whether the service certainly did nothing: it was not reached, or it refused the call itself. */
function hadNoEffect(thrown: unknown): boolean {
  if (thrown instanceof ActionRefused) return thrown.by === "inputs";
  if (thrown instanceof ActionFailed) return thrown.effect === "none";
  if (thrown instanceof NodeFailure) return thrown.upstream_status === 401 || thrown.upstream_status === 429;
  if (!(thrown instanceof FetchFailed)) return thrown instanceof Error && thrown.name === "FetchRefused";
  const { code } = (thrown.cause ?? {}) as { code?: unknown };
  return thrown.code === "dns_failed" || thrown.code === "tls_failed" || code === "ECONNREFUSED";
}

/** Whether it is unknown what the service did. */
function isUnclear(thrown: unknown, signal: AbortSignal): boolean {
  if (signal.aborted) return signal.reason instanceof NodeFailure;
  if (thrown instanceof ActionFailed) return thrown.effect === "unknown";
  return thrown instanceof FetchFailed && !thrown.code.endsWith("too_large") && !thrown.code.endsWith("encoding");
}

function outcomeUnknown(cause?: unknown): NodeFailure {
  return new NodeFailure(
    "outcome_unknown",
    "The action was called, but its outcome is unknown. It is not repeated, because that could do it twice: check in the other service whether it took effect.",
    { upstream: true, cause },
  );
}

function toFailure(thrown: unknown): unknown {
  if (!(thrown instanceof ActionRefused)) return fetchFailure(thrown);
  return thrown.by === "inputs"
    ? new NodeFailure("invalid_action_inputs", `These inputs are not valid for the action: ${thrown.message}.`)
    : new NodeFailure("action_refused", thrown.message, { upstream: true });
}

/** The failure without secrets, and retryable only if a retry is harmless. */
function presentable(failure: NodeFailure, connection: ResolvedConnection | null, harmless: boolean): NodeFailure {
  const { code, upstream, retry_after_ms, upstream_status } = failure;
  const message = createMaskValues(connection?.secrets ?? [])(failure.message, true);
  const retryable = failure.retryable && harmless;
  return new NodeFailure(code, message, { retryable, upstream, retry_after_ms, upstream_status });
}
