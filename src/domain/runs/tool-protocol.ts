import type { Json, JsonObject } from "../json.ts";

/** Supported versions of the Model Context Protocol, newest first. */
export const MCP_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** The protocol version to use: the client's, if it is supported, otherwise the newest. */
export function agreedVersion(wanted: Json | undefined): string {
  return MCP_VERSIONS.find((version) => version === wanted) ?? MCP_VERSIONS[0];
}

/** Codes of JSON-RPC errors. */
export const METHOD_NOT_FOUND = -32_601;
export const INVALID_PARAMS = -32_602;

/** The field of a call's `_meta` that counts how many runs have started each other, if the caller is a run. */
export const DEPTH = "millrace/depth";

export type RpcId = string | number;

export type RpcAnswer =
  | { readonly jsonrpc: "2.0"; readonly id: RpcId; readonly result: JsonObject }
  | {
      readonly jsonrpc: "2.0";
      readonly id: RpcId;
      readonly error: { readonly code: number; readonly message: string };
    };

export function rpcResult(id: RpcId, result: JsonObject): RpcAnswer {
  return { jsonrpc: "2.0", id, result };
}

export function rpcError(id: RpcId, code: number, message: string): RpcAnswer {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

/** Thrown for a request that cannot be served; its sender receives a JSON-RPC error. */
export class RpcRefused extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = "RpcRefused";
    this.code = code;
  }
}
