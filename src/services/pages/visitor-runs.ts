import { uuidv7 } from "uuidv7";
import { notFound, required } from "../../domain/errors.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Json } from "../../domain/json.ts";
import { TITLE_CHARS, conversationOf, visitorUserId } from "../../domain/pages/page.ts";
import type { Database } from "../../stores/db.ts";
import { deleteConversations } from "../../stores/models/conversations.ts";
import type { PageRow } from "../../stores/pages/pages.ts";
import {
  findVisitorConversation,
  insertVisitorConversation,
  touchVisitorConversation,
} from "../../stores/pages/visitor-conversations.ts";
import type { VisitorRow } from "../../stores/pages/visitors.ts";
import { getRun, type RunRow } from "../../stores/runs/runs.ts";
import { flowForVisitor } from "./pages.ts";
import { requireInputs } from "../runs/run-inputs.ts";
import type { RunService } from "../runs/run-service.ts";
import type { Parts } from "../parts.ts";

/** Longest title that a conversation gets from its first question, in characters. */
const QUESTION_CHARS = 80;

export interface VisitorRunDeps extends Parts<"db" | "maxInputBytes" | "flows"> {
  readonly runService: Pick<RunService, "create">;
}

/** A visitor on a page. */
export interface VisitorOn {
  readonly page: PageRow;
  readonly visitor: VisitorRow;
}

/**
 * Does something in a conversation of this visitor, under its `user_id`. Without an ID a new conversation is made, and removed again if
 * the work fails. Throws 404 for anyone else's.
 */
export async function inConversation<T>(
  db: Database,
  { page, visitor }: VisitorOn,
  {
    conversation_id: conversationId,
    title,
  }: { readonly conversation_id: string | undefined; readonly title: string | null },
  work: (of: { readonly conversation_id: string; readonly user_id: string }) => Promise<T>,
): Promise<T> {
  const { org_id, project_id, page_id } = page;
  const { visitor_id } = visitor;
  const conversation_id = conversationId ?? uuidv7();
  const own = { conversation_id, org_id, project_id, page_id };
  const user_id = visitorUserId(visitor_id, conversation_id);
  await db.org(org_id, async (connection) => {
    if (conversationId === undefined)
      await insertVisitorConversation(connection, { ...own, visitor_id, user_id, title });
    else if (!(await touchVisitorConversation(connection, visitor_id, conversation_id, title)))
      throw notFound("conversation");
  });
  try {
    return await work({ conversation_id, user_id });
  } catch (error) {
    if (conversationId === undefined)
      await db.org(org_id, (connection) => deleteConversations(connection, project_id, user_id, 1));
    throw error;
  }
}

/** A run of one of the visitor's conversations. Throws 404 for any other, and after the conversation was deleted. */
export async function requireVisitorRun(db: Database, { page, visitor }: VisitorOn, runId: string): Promise<RunRow> {
  const run = await db.org(page.org_id, async (connection) => {
    const found = await getRun(connection, runId);
    const conversation = found && conversationOf(visitor.visitor_id, found.user_id);
    if (!conversation || found.project_id !== page.project_id || found.run_type === "sub_workflow") return null;
    return (await findVisitorConversation(connection, visitor.visitor_id, conversation)) && found;
  });
  return required(run, "run");
}

/** What a visitor sends to start a run. */
export interface VisitorRun extends VisitorOn {
  readonly run_id: string;
  /** Whether the run may exist, because the same request was made before. */
  readonly repeated: boolean;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly conversation_id?: string | undefined;
  /** Counts the run against the limits of the page. Throws 429. */
  readonly count: () => Promise<void>;
}

/**
 * Starts a run of the version that the page's environment has: never a draft. Throws 404 for an unknown conversation, 422 for invalid
 * inputs, and 429 for the limits of the organisation.
 */
export async function startVisitorRun(
  { db, flows, runService, maxInputBytes }: VisitorRunDeps,
  wanted: VisitorRun,
): Promise<RunRow> {
  const { page, visitor, run_id, repeated } = wanted;
  const { org_id, project_id } = page;
  if (repeated) {
    const known = await db.org(org_id, (connection) => getRun(connection, run_id));
    if (known) return requireVisitorRun(db, wanted, run_id);
  }
  // A request that was refused before counts again, whatever its key.
  await wanted.count();
  const { version, plan, environment } = await flowForVisitor(flows, page);
  // Checked under the conversation's own ID, which a refused request must not create.
  const reader =
    wanted.conversation_id === undefined ? null : visitorUserId(visitor.visitor_id, wanted.conversation_id);
  const { inputs } = await requireInputs(
    { db, maxInputBytes },
    { org_id, project_id, user_id: reader, plan },
    wanted.inputs,
    { loc: ["body", "inputs"], reserved: [] },
  );
  const of = { conversation_id: wanted.conversation_id, title: titleOf(plan, inputs) };
  const run = { org_id, run_id, project_id, version, plan, environment, inputs };
  const caller = { run_type: "api", ran_by_type: "page", ran_by_id: page.page_id } as const;
  return inConversation(db, wanted, of, ({ user_id }) =>
    runService.create({ ...run, ...caller, user_id }, { repeated: false }),
  );
}

/** A title from the first text that was entered. */
function titleOf(plan: Plan, inputs: Readonly<Record<string, Json>>): string | null {
  const texts = plan.nodes.filter(({ type }) => type === "input").map(({ id }) => inputs[id]);
  const first = texts.find((text) => typeof text === "string" && text.trim() !== "");
  const words = typeof first === "string" ? first.slice(0, 10 * TITLE_CHARS) : "";
  const line = words.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  if (line === "") return null;
  const characters = [...line.toWellFormed()];
  return characters.length <= QUESTION_CHARS
    ? characters.join("")
    : `${characters.slice(0, QUESTION_CHARS - 1).join("")}…`;
}
