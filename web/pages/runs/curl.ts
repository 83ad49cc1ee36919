import type { RunFilters } from "../../api/runs.ts";
import { curl, curlOfCall } from "../../parts/curl.ts";

export const curlOfRun = (runId: string): string => curlOfCall("GET", `/v2/runs/${runId}?expand=nodes`);

export const curlOfNode = (runId: string, path: string): string =>
  curlOfCall("GET", `/v2/runs/${runId}/node?path=${encodeURIComponent(path)}`);

/** A curl command that lists the runs of a filter. */
export function curlOfRuns(filters: RunFilters & { readonly order?: "asc" | "desc" }): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters))
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each));
  return curlOfCall("GET", query.size === 0 ? "/v2/runs" : `/v2/runs?${query.toString()}`);
}

/** A curl command that starts a run like this one. */
export function curlOfStart(run: {
  readonly project_id: string;
  readonly flow_version: number;
  readonly inputs: object;
}): string {
  return curlOfCall("POST", "/v2/runs", {
    project_id: run.project_id,
    version: run.flow_version,
    inputs: run.inputs,
  });
}

/** A curl command for the recorded request of an `http` node; null if the record has no request. */
export function curlOfRequest(inputs: unknown): string | null {
  if (typeof inputs !== "object" || inputs === null) return null;
  const { method, url, headers, body } = inputs as Record<string, unknown>;
  if (typeof url !== "string" || typeof method !== "string") return null;
  const given = typeof headers === "object" && headers !== null ? Object.entries(headers) : [];
  return curl({
    method,
    url,
    headers: Object.fromEntries(given.map(([name, value]) => [name, String(value)])),
    body: body == null ? undefined : typeof body === "string" ? body : JSON.stringify(body),
  });
}
