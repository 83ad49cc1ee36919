import { curl, quoted } from "../../parts/curl.ts";

const KEY = '-H "Authorization: Bearer $MILLRACE_KEY"';

export const curlOfRun = (runId: string): string =>
  `curl ${quoted(`${location.origin}/v2/runs/${runId}?expand=nodes`)} ${KEY}`;

export const curlOfNode = (runId: string, path: string): string =>
  `curl ${quoted(`${location.origin}/v2/runs/${runId}/node?path=${encodeURIComponent(path)}`)} ${KEY}`;

/** Starts such a run. */
export function curlOfStart(run: {
  readonly project_id: string;
  readonly flow_version: number;
  readonly inputs: object;
}): string {
  const body = JSON.stringify({ project_id: run.project_id, version: run.flow_version, inputs: run.inputs });
  return `curl -X POST ${quoted(`${location.origin}/v2/runs`)} ${KEY} -H "Content-Type: application/json" -d ${quoted(body)}`;
}

/** The request of an `http` node, as it is recorded; null where the record has none. */
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
