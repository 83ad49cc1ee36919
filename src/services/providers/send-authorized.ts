import type { SendAuthorized } from "../../platform/mcp/mcp-client.ts";
import type { ResolvedConnection } from "./resolve-connection.ts";

/** Sends requests with or without the credential of a connection. */
export function sendAuthorized(connection: ResolvedConnection | null): SendAuthorized {
  if (connection === null) return (call) => call({ headers: {}, query: {} });
  return (call) => connection.send(call);
}
