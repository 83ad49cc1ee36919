import type { Config } from "../../config.ts";
import type { RequestContext } from "./operation.ts";

/**
 * The URL that clients use to reach Millrace, without a slash at its end: the configured one, otherwise this machine's. The Host header is
 * never used, because the client controls it.
 */
export function baseUrl(config: Config, ctx: RequestContext): string {
  const configured = config.MILLRACE_PUBLIC_URL?.replace(/(?<!\/)\/+$/, "");
  return configured ?? `http://localhost:${ctx.req.socket.localPort}`;
}
