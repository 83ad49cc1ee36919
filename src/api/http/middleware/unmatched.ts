import type { RouterContext } from "@koa/router";
import type { Middleware } from "koa";
import { Problem } from "../../../domain/errors.ts";
import { answerPreflight } from "../cors.ts";
import type { Operation, RequestState } from "../operation.ts";

/** Responds to requests that no operation serves: OPTIONS, a known path with another method (405), any other path (404). */
export function unmatched(operations: readonly Operation[], cors: boolean): Middleware<RequestState> {
  const crossOrigin = new Set(
    operations.filter((operation) => operation.auth === "public").map((operation) => operation.id),
  );
  return async function unmatched(ctx, next) {
    await next();
    const { matched = [], routeMatched } = ctx as unknown as RouterContext;
    if (routeMatched) return;
    if (matched.length === 0) throw new Problem("not_found", "No operation at this path.");
    const methods = [...new Set(matched.flatMap((layer) => layer.methods)), "OPTIONS"];
    ctx.set("Allow", methods.join(", "));
    if (ctx.method !== "OPTIONS")
      throw new Problem("method_not_allowed", `This path allows only ${methods.join(", ")}.`);
    if (cors && matched.some((layer) => crossOrigin.has(layer.name ?? ""))) answerPreflight(ctx, methods);
    ctx.status = 204;
  };
}
