import type { Config } from "../../config.ts";
import type { RequestContext } from "./operation.ts";

/**
 * The address that clients use to reach the service, without a slash at its end: the configured one, else this
 * machine's. It is never made from the Host header, because the client writes that.
 */
export function baseUrl(config: Config, ctx: RequestContext): string {
  const configured = config.MILLRACE_PUBLIC_URL?.replace(/(?<!\/)\/+$/, "");
  return configured ?? `http://localhost:${ctx.req.socket.localPort}`;
}
