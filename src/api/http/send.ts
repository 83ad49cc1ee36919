import type { RequestContext } from "./operation.ts";
import type { Rendered } from "./render.ts";

/** Writes a rendered response. */
export function send(ctx: RequestContext, rendered: Rendered): void {
  ctx.status = rendered.status;
  for (const [name, value] of Object.entries(rendered.headers)) ctx.set(name, value);
  if (rendered.body === undefined) {
    ctx.body = null;
    // Koa turns an empty body into a 204; keep the status of a 202 or 304.
    ctx.status = rendered.status;
  } else {
    ctx.body = rendered.body;
  }
}
