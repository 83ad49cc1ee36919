import type { RequestContext } from "./operation.ts";
import type { Rendered } from "./render.ts";

/** Puts a rendered answer into the response. */
export function send(ctx: RequestContext, rendered: Rendered): void {
  ctx.status = rendered.status;
  for (const [name, value] of Object.entries(rendered.headers)) ctx.set(name, value);
  if (rendered.body === undefined) {
    ctx.body = null;
    // Koa makes an empty body a 204; a 202 or 304 stays what it is.
    ctx.status = rendered.status;
  } else {
    ctx.body = rendered.body;
  }
}
