import { z } from "zod";
import type { ProblemCode } from "../../domain/errors.ts";

export const pageToken = z.object({ token: z.string().max(1000).describe("The secret part of the page's URL.") });

/** What every operation of a page may answer; see Admission. */
export const PAGE_PROBLEMS = [
  "unauthorized",
  "forbidden",
  "not_found",
  "page_closed",
  "rate_limited",
  "service_unavailable",
] as const satisfies readonly ProblemCode[];
