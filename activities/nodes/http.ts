import { httpSpec } from "../../src/domain/flow/nodes/http.ts";
import type { HttpConfig } from "../../src/domain/flow/nodes/http.ts";
import type { Evaluation } from "../../src/platform/evaluation/evaluation.ts";
import type { GuardedFetch, GuardedResponse } from "../../src/platform/fetch/guarded-fetch.ts";
import { FOR_A_VALUE } from "../fetch-limits.ts";
import type { NodeExecutor } from "./executor.ts";
import { outgoing, renderRequest, secretsOf, requestPreview } from "./http-request.ts";
import { fetchFailure, readableBody, readableHeaders, statusFailure } from "./http-response.ts";
import { renderTemplates } from "./templates.ts";

export interface HttpDeps {
  readonly evaluation: Evaluation;
  readonly guardedFetch: Pick<GuardedFetch, "fetch">;
  /** Millrace's own, for the User-Agent. */
  readonly version: string;
}

/**
 * Executes `http` nodes. Every request carries the node's Idempotency-Key, the same on each retry, unless the flow sets
 * that header itself: so a service that honours it does the work once, however often a worker dies.
 */
export function createHttpExecutor({ evaluation, guardedFetch, version }: HttpDeps): NodeExecutor<HttpConfig> {
  return async ({ org_id, config, scope, idempotency_key, signal }) => {
    const rendered = await renderTemplates(evaluation, org_id, httpSpec.expressions(config), scope);
    const request = renderRequest(config, rendered, {
      accept: "*/*",
      "user-agent": `Millrace/${version}`,
      "idempotency-key": idempotency_key,
    });
    let response: GuardedResponse;
    try {
      response = await guardedFetch.fetch({ ...outgoing(request), limits: FOR_A_VALUE, signal });
    } catch (error) {
      throw fetchFailure(error);
    }
    if (!isExpected(response.status, config.expect_status)) throw statusFailure(response, secretsOf(request));
    const { status } = response;
    return {
      output: { status, headers: readableHeaders(response), body: readableBody(response) },
      inputs: requestPreview(request),
    };
  };
}

type Expected = HttpConfig["expect_status"];

function isExpected(status: number, expected: Expected): boolean {
  if (Array.isArray(expected)) return expected.some((one) => isExpected(status, one));
  const text = String(expected);
  return text.endsWith("xx") ? String(status).startsWith(text.charAt(0)) : String(status) === text;
}
