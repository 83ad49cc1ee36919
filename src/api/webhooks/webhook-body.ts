import { z } from "zod";
import { distinct } from "../../domain/distinct.ts";
import { EVENT_TYPES, typesOfPattern } from "../../domain/webhooks/events.ts";
import type { ValidationIssue } from "../../domain/errors.ts";
import { headerProblems, SUBSCRIPTION_STATUSES } from "../../domain/webhooks/webhook.ts";
import { FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import { outboundHeaders, outboundUrl } from "../../platform/fetch/guarded-fetch-request.ts";
import { unknownProjects } from "../../services/projects/projects.ts";
import type { Database } from "../../stores/db.ts";

/** The form of a receiver's address. The guarded fetch decides whether it may be called. */
const receiverUrl = z
  .string()
  .trim()
  .min(1, { abort: true })
  .max(2048, { abort: true })
  .superRefine((text, context) => {
    const problem =
      refusalOf(() => outboundUrl(text)) ?? (text.includes("#") ? "A fragment (#...) is never sent." : null);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  })
  .describe("http or https, without user, password and fragment. Private addresses are refused.");

/** Patterns of event types. Each matches at least one type. */
export const eventPatterns = z
  .array(
    z
      .string()
      .max(200)
      .refine((pattern) => typesOfPattern(pattern).length > 0, {
        error: `No event matches. Write a type, a prefix like "run.*", or "*"; the types are ${EVENT_TYPES.join(", ")}`,
      }),
  )
  .min(1)
  .max(50)
  .overwrite(distinct)
  .describe("Types of events, `prefix.*`, or `*`.");

const projectFilter = z
  .strictObject({ project_id: z.array(z.uuid().toLowerCase()).min(1).max(100) })
  .describe("Only events of these projects. Without it all events, with or without a project.");

/** Headers to be sent along. */
const sentHeaders = z
  .record(z.string(), z.string())
  .superRefine((headers, context) => {
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
        ? `The header ${lower} is given twice.`
        : refusalOf(() => outboundHeaders({ [name]: value }));
      if (problem !== null && !reported.has(name)) add(name, problem);
      seen.add(lower);
    }
  })
  .describe("Sent along with each event, e.g. for a gateway's own credential. At most 20.");

const description = z.string().max(1000);

export const createBody = z
  .strictObject({
    url: receiverUrl,
    events: eventPatterns,
    filter: projectFilter.nullish(),
    description: description.default(""),
    headers: sentHeaders.nullish(),
  })
  .meta({ id: "WebhookSubscriptionCreate" });

export const changeBody = z
  .strictObject({
    url: receiverUrl.optional(),
    events: eventPatterns.optional(),
    filter: projectFilter.nullish().describe("Null removes it."),
    description: description.optional(),
    headers: sentHeaders.nullish().describe("Takes the place of all there were; null removes them."),
    status: z
      .enum(SUBSCRIPTION_STATUSES)
      .optional()
      .describe("`disabled` ends what is under way; a replay sends it once the subscription is enabled again."),
  })
  .meta({ id: "WebhookSubscriptionChange" });

/** The headers with their names in lower case. */
export function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
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

/** What a 422 says of an address that may not be called. */
export function refusalOfUrl(error: unknown): ValidationIssue[] {
  if (!(error instanceof FetchRefused)) throw error;
  return [{ loc: ["body", "url"], msg: error.message, type: "value_error" }];
}

/** The issues of a 422 for projects that the organisation does not have. */
export async function projectIssues(
  db: Database,
  orgId: string,
  projectIds: readonly string[],
): Promise<ValidationIssue[]> {
  const unknown = await unknownProjects(db, orgId, projectIds);
  return unknown.map((at) => ({
    loc: ["body", "filter", "project_id", at],
    msg: "There is no such project",
    type: "value_error",
  }));
}
