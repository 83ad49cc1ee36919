import type { Config } from "../../config.ts";
import type { RequestContext } from "./operation.ts";

/**
 * The address that clients reach the service by, without a slash at its end: the configured one, else this machine's.
 * Never made from the Host header, which is the client's text.
 */
export function baseUrl(config: Config, ctx: RequestContext): string {
  const configured = config.MILLRACE_PUBLIC_URL?.replace(/(?<!\/)\/+$/, "");
  return configured ?? `http://localhost:${ctx.req.socket.localPort}`;
}
