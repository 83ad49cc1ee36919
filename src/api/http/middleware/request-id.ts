import type { Middleware } from "koa";
import { uuidv7 } from "uuidv7";
import type { RequestState } from "../operation.ts";

const ACCEPTED = /^[A-Za-z0-9._-]{1,128}$/;

/** Gives every request an ID (the client's own if it is harmless in a log line), and returns it in the response. */
export function requestId(): Middleware<RequestState> {
  return async function requestId(ctx, next) {
    const given = ctx.get("x-request-id");
    ctx.state.requestId = ACCEPTED.test(given) ? given : uuidv7();
    ctx.set("X-Request-Id", ctx.state.requestId);
    await next();
  };
}
