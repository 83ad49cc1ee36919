import type { SendAuthorized } from "../../platform/mcp/mcp-client.ts";
import type { ResolvedConnection } from "./resolve-connection.ts";

/** Sends requests with the credential of a connection, or without one. */
export function sendAuthorized(connection: ResolvedConnection | null): SendAuthorized {
  if (connection === null) return (call) => call({ headers: {}, query: {} });
  return (call) => connection.send(call);
}
