import type { RawAnswer, RawRequest } from "../../api/raw-request.ts";
import { callUrl, uploadUrl, type FlowCall } from "../../../src/domain/flow/io/call-code.ts";

/** The requests of a call: with a key the ones of the code, without one uploads and a run of the session. */
export function requestsOf(call: FlowCall, key: string, files: Readonly<Record<string, File>>): RawRequest[] {
  const { way, inputs, project_id, version, environment } = call;
  const type = "application/json";
  const headers: Readonly<Record<string, string>> = key === "" ? {} : { Authorization: `Bearer ${key}` };
  const uploads = call.uploads.flatMap((upload): RawRequest[] => {
    const file = files[upload.node_id];
    if (file === undefined) return [];
    const body = { kind: "form", type: "multipart/form-data", fields: [["file", file]] } as const;
    return [{ method: "POST", url: uploadUrl(call, upload), headers, body }];
  });
  if (key === "") {
    const { user_id, ...others } = inputs;
    const body = {
      project_id,
      ...(version !== null && { version }),
      ...(environment != null && { environment }),
      inputs: others,
      ...(user_id !== undefined && { user_id }),
      mode: way === "sync" ? "sync" : "async",
    };
    const text = JSON.stringify(body);
    return [...uploads, { method: "POST", url: `${call.base}/v2/runs`, headers, body: { kind: "text", type, text } }];
  }
  const prefer = way === "async" ? { Prefer: "respond-async" } : {};
  const body = { kind: "text", type, text: JSON.stringify(inputs) } as const;
  return [...uploads, { method: "POST", url: callUrl(call), headers: { ...headers, ...prefer }, body }];
}

/** The ID of the run that a response tells of. */
export function runIn(answer: RawAnswer | null): string | null {
  return /"run_id":\s?"([0-9a-f-]{36})"/.exec(answer?.text ?? "")?.[1] ?? null;
}
