import { koaBody } from "koa-body";
import { Problem, tooLarge } from "../../domain/errors.ts";
import type { RequestContext } from "./operation.ts";
import { checkForm } from "./read-json.ts";

/** Limits of a form-encoded body. */
export interface FormLimits {
  readonly maxBytes: number;
  /** Further fields are ignored: `tooMany` says that there are more. */
  readonly maxMembers: number;
}

/** A form-encoded body. */
export interface FormBody {
  /** Keyed by name; each name with all its values. */
  readonly members: ReadonlyMap<string, readonly string[]>;
  readonly tooMany: boolean;
}

/** Reads a form-encoded body (a few short fields, so its limits are low). Throws 413 and 415 like `readJson`. */
export async function readForm(ctx: RequestContext, { maxBytes, maxMembers }: FormLimits): Promise<FormBody> {
  checkForm(ctx.req);
  try {
    await koaBody({
      json: false,
      text: false,
      formLimit: maxBytes,
      urlencodedTypes: ["application/x-www-form-urlencoded"],
      // Names are taken literally: no brackets, no dots, no inherited properties.
      queryString: {
        depth: 0,
        allowDots: false,
        parseArrays: false,
        plainObjects: true,
        parameterLimit: maxMembers + 1,
      },
    })(ctx, async () => undefined);
  } catch (error) {
    throw asProblem(error, maxBytes);
  }
  const read = Object.entries((ctx.request.body ?? {}) as Readonly<Record<string, string | string[]>>);
  const members = new Map(read.map(([name, value]) => [name, [value].flat()]));
  const count = [...members.values()].reduce((sum, values) => sum + values.length, 0);
  return { members, tooMany: count > maxMembers };
}

/** The `type` of raw-body's errors tells them apart. */
function asProblem(error: unknown, maxBytes: number): unknown {
  const type = error instanceof Error && "type" in error ? error.type : undefined;
  if (type === "entity.too.large") return tooLarge("body", maxBytes);
  if (type === "request.aborted" || type === "request.size.invalid")
    return new Problem("bad_request", "The request ended before its body was complete.", { cause: error });
  return error;
}
