import { httpSpec, type HttpConfig } from "../../src/domain/flow/nodes/http.ts";
import type { Parts } from "../../src/services/parts.ts";
import { FOR_A_VALUE } from "../fetch-limits.ts";
import type { NodeExecutor } from "./executor.ts";
import { outgoing, renderRequest, secretsOf, requestPreview } from "./http-request.ts";
import { readableBody, readableHeaders, sendRequest, statusFailure } from "./http-response.ts";
import { renderTemplates } from "./templates.ts";

export type HttpDeps = Parts<"evaluation" | "guardedFetch" | "version">;

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
    const response = await sendRequest(guardedFetch, { ...outgoing(request), limits: FOR_A_VALUE, signal });
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
