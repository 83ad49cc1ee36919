import type { Middleware } from "koa";
import type { Logger } from "../../../platform/logging/logger.ts";
import type { RequestState } from "../operation.ts";
import { renderProblem, toProblem } from "../problem-answer.ts";
import { send } from "../render.ts";

/** Converts errors to responses: Problems as they define, all others as a bare 500 and a log line. */
export function problems(logger: Logger): Middleware<RequestState> {
  return async function problems(ctx, next) {
    try {
      await next();
    } catch (error) {
      const problem = toProblem(error);
      if (problem !== error && problem.status >= 500) {
        logger.error(
          { err: error, request_id: ctx.state.requestId, operation: ctx.state.operationId },
          "request failed",
        );
      }
      if (ctx.res.headersSent) {
        // A stream that broke off must not look complete.
        ctx.respond = false;
        ctx.res.destroy();
        return;
      }
      send(ctx, renderProblem(problem, ctx.state.requestId));
    }
  };
}
