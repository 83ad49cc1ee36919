import { Context } from "@temporalio/activity";
import { beat } from "../attempts.ts";
import { isObject, type Json, type JsonObject } from "../../src/domain/json.ts";
import { ActionRefused } from "../../src/domain/providers/action.ts";
import { forModel } from "../../src/domain/providers/mcp/for-model.ts";
import { textOf } from "../../src/domain/providers/connection.ts";
import { unstorableText } from "../../src/domain/storable.ts";
import { DEPTH } from "../../src/domain/runs/tool-protocol.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { maskJson } from "../../src/platform/logging/mask-json.ts";
import { createMaskValues } from "../../src/platform/logging/mask-values.ts";
import { MASK } from "../../src/platform/logging/redaction.ts";
import type { McpClient, ToolProgress, ToolResult } from "../../src/platform/mcp/mcp-client.ts";
import type { Parts } from "../../src/services/parts.ts";
import { sendAuthorized } from "../../src/services/providers/resolve-connection.ts";
import { depthOfRun } from "../../src/services/triggers/chain.ts";
import { FOR_A_VALUE } from "../fetch-limits.ts";
import { requestPreview } from "../nodes/http-request.ts";
import { callerOf, type ActionCall, type ActionExecutor } from "./action-call.ts";

export interface McpActionDeps extends Parts<"db"> {
  readonly mcp: Pick<McpClient, "callTool">;
}

/** Carries out actions that are tools of MCP servers. */
export function createMcpAction({ db, mcp }: McpActionDeps): ActionExecutor {
  return async (call) => {
    const { org_id, action, inputs, connection, dry_run, signal, begin } = call;
    if (action.tool === undefined) throw new Error(`${action.action_id} is not a tool`);
    // A credential is sent only to the server it was stored for, even if the provider has changed its URL since.
    const url = textOf(connection?.credential ?? {}, "base_url") || action.tool.url;
    const params = { name: action.tool.name, arguments: inputs };
    const rendered = (): Json => renderedRequest(url, params, call);
    if (dry_run) return { outputs: null, rendered_request: rendered() };
    const server = { url, send: sendAuthorized(connection), signal, limits: FOR_A_VALUE };
    // The server may be this installation and the tool the calling flow itself, so the depth limits the recursion.
    const _meta = { [DEPTH]: await depthOfRun(db, org_id, callerOf(call)) };
    const result = await mcp.callTool(server, { ...params, _meta }, { begin, onProgress: tellProgress });
    const text = textsOf(result);
    const outputs: JsonObject = {
      text,
      content: result.content,
      ...(result.structured === undefined ? {} : { structured_content: result.structured }),
    };
    if (result.isError) throw new ActionRefused("upstream", text.trim() === "" ? reasonIn(outputs) : text);
    if (unstorableText(outputs) !== undefined)
      throw new NodeFailure("value_not_storable", "The tool's result contains characters that cannot be stored.");
    return { outputs, rendered_request: rendered() };
  };
}

function renderedRequest(url: string, params: JsonObject, { connection }: ActionCall): Json {
  const { headers, query } = connection?.authorization() ?? { headers: {}, query: {} };
  const address = new URL(url);
  for (const name of Object.keys(query)) address.searchParams.set(name, "masked");
  const plain = {
    method: "POST",
    url: address.href,
    headers: Object.fromEntries(Object.keys(headers).map((name) => [name, MASK])),
    body: { jsonrpc: "2.0", method: "tools/call", params },
  };
  return requestPreview(maskJson(plain, createMaskValues(connection?.secrets ?? [])) as unknown as typeof plain);
}

/** Forwards only the numbers of a progress report, because a server's text may contain anything. */
function tellProgress({ progress, total }: ToolProgress): void {
  beat(Context.current(), { progress, total: total ?? null });
}

/** The reason of a failed tool that returned no text: servers may give it as structured content or as a resource. */
function reasonIn(outputs: JsonObject): string {
  const said = forModel(outputs);
  const told = isObject(said) ? [said["structured_content"], said["parts"]] : [];
  const reason = told.flatMap((each) => (each === undefined ? [] : [JSON.stringify(each)])).join(" ");
  return reason || "The tool failed without giving a reason.";
}

function textsOf({ content }: ToolResult): string {
  return content.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : [])).join("\n");
}
