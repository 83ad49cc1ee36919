import { z } from "zod";
import { distinct } from "../../domain/distinct.ts";
import { EVENT_TYPES, typesOfPattern } from "../../domain/webhooks/events.ts";
import { patchOf } from "../../domain/patch.ts";
import type { ValidationIssue } from "../../domain/errors.ts";
import { headerProblems, SUBSCRIPTION_STATUSES } from "../../domain/webhooks/webhook.ts";
import { FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import { outboundHeaders, outboundUrl } from "../../platform/fetch/guarded-fetch-request.ts";
import { unknownProjects } from "../../services/projects/projects.ts";
import type { Database } from "../../stores/db.ts";
import { givenId, namedStrict } from "../http/schemas.ts";

/** The form of a receiver's address. The guarded fetch decides whether it may be called. */
const receiverUrl = z
  .string()
  .trim()
  .min(1, { abort: true })
  .max(2048, { abort: true })
  .superRefine((text, context) => {
    const problem =
      refusalOf(() => outboundUrl(text)) ??
      (text.includes("#") ? "Must have no fragment (#...): it is never sent." : null);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  })
  .describe("http or https URL without user, password and fragment. Private addresses are rejected.");

/** Patterns of event types. Each must match at least one type. */
export const eventPatterns = z
  .array(
    z
      .string()
      .max(200)
      .refine((pattern) => typesOfPattern(pattern).length > 0, {
        error: `No event matches. Use a type, a prefix like "run.*", or "*"; the types are ${EVENT_TYPES.join(", ")}`,
      }),
  )
  .min(1)
  .max(50)
  .overwrite(distinct)
  .describe("Event types, `prefix.*`, or `*` for all.");

const projectFilter = z
  .strictObject({ project_id: z.array(givenId).min(1).max(100) })
  .describe("Only events of these projects. If omitted, all events, also events without a project.");

function checkHeaders(headers: Readonly<Record<string, string>>, context: z.core.$RefinementCtx): void {
  const add = (name: string, message: string): void =>
    context.addIssue({ code: "custom", message, path: name === "" ? [] : [name] });
  const ours = headerProblems(headers);
  for (const { name, problem } of ours) add(name, problem);
  if (ours.some(({ name }) => name === "")) return;
  const reported = new Set(ours.map(({ name }) => name));
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    const problem = seen.has(lower)
      ? `The header ${lower} was sent twice.`
      : refusalOf(() => outboundHeaders({ [name]: value }));
    if (problem !== null && !reported.has(name)) add(name, problem);
    seen.add(lower);
  }
}

/** Additional request headers. */
export const sentHeaders = z
  .record(z.string(), z.string())
  .superRefine(checkHeaders)
  .describe("Headers sent with each event, for example a gateway's credential. At most 20.");

const description = z.string().max(1000);

export const createBody = namedStrict("WebhookSubscriptionCreate", {
  url: receiverUrl,
  events: eventPatterns,
  filter: projectFilter.nullish(),
  description: description.default(""),
  headers: sentHeaders.nullish(),
});

export const changeBody = namedStrict("WebhookSubscriptionChange", {
  url: receiverUrl.optional(),
  events: eventPatterns.optional(),
  filter: patchOf(projectFilter).nullish().describe("Replaces the filter; `null` clears it."),
  description: description.optional(),
  headers: patchOf(sentHeaders)
    // Whether all of them together are too many is checked later.
    .superRefine((headers, context) => checkHeaders(withoutNulls(headers), context))
    .nullish()
    .describe("`null` for a header deletes it; `null` for the whole field deletes all headers."),
  status: z
    .enum(SUBSCRIPTION_STATUSES)
    .optional()
    .describe("`disabled` stops pending deliveries. After you enable it again, a replay sends them."),
});

function withoutNulls(headers: Readonly<Record<string, string | null | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value == null ? [] : [[name, value]])));
}

/** The headers with their names in lower case. */
export function lowerCased<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function refusalOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof FetchRefused) return error.message;
    throw error;
  }
}

/** The message of a 422 for a URL that may not be called. */
export function refusalOfUrl(error: unknown): ValidationIssue[] {
  if (!(error instanceof FetchRefused)) throw error;
  return [{ loc: ["body", "url"], msg: error.message, type: "value_error" }];
}

/** The issues of a 422 for projects that do not exist in the organisation. */
export async function projectIssues(
  db: Database,
  orgId: string,
  projectIds: readonly string[],
): Promise<ValidationIssue[]> {
  const unknown = await unknownProjects(db, orgId, projectIds);
  return unknown.map((at) => ({
    loc: ["body", "filter", "project_id", at],
    msg: "Project not found",
    type: "value_error",
  }));
}
