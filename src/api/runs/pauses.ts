import { z } from "zod";
import { asIn, highestRole, projectsWith, roleAllows, type Principal } from "../../domain/accounts/principal.ts";
import { invalid, notFound } from "../../domain/errors.ts";
import { answererOf, type Person } from "../../domain/runs/assignees.ts";
import { findPerson, personOf } from "../../services/accounts/people.ts";
import { mayAnswer } from "../../services/runs/assignees.ts";
import type { Db } from "../../stores/db.ts";
import { readNodeNames } from "../../stores/runs/node-names.ts";
import { findPause, listOrganisationPauses, type ListedPauseRow } from "../../stores/runs/pause-lists.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf } from "../http/operation.ts";
import { asDeclared, givenId, named, pathId } from "../http/schemas.ts";
import { pauseSchema, presentPause } from "./pause-presenter.ts";

const listedPauseSchema = named("ListedPause", {
  ...pauseSchema.shape,
  run_id: z.uuid().describe("The run to answer: send this `pause_id` to `POST /v2/runs/{run_id}/resume`."),
  project_id: z.uuid(),
  node_name: z.string().nullable().describe("Name of the node in the flow; `null` if it has none."),
  may_answer: z
    .boolean()
    .describe(
      "Whether the caller can answer it now: it still waits, the caller is allowed to answer, and has not answered yet.",
    ),
  resolution: z
    .object({ action: z.string(), by: z.string().nullable(), at: z.iso.datetime(), comment: z.string().nullable() })
    .nullable()
    .describe("How it was decided. `by` is `user:<id>`, `org_api_key:<id>`, or `null` if the pause expired."),
});

const define = operationsOf({ tag: "Runs", auth: "secret" });

/** `/v2/pauses`: approvals, over all runs of the organisation. */
export const pauseOperations = [
  define({
    id: "listPauses",
    route: "GET /v2/pauses",
    summary: "List pauses",
    description:
      "Lists pauses across all runs, sorted by the time they were opened. `status=waiting` lists the pauses that can still be answered.",
    query: listQuery.extend({
      status: z.enum(["waiting", "resolved", "expired", "cancelled"]).optional(),
      project_id: givenId.optional(),
      assignee: z
        .union([z.literal("me"), givenId])
        .optional()
        .describe(
          "Only pauses whose `assignees` name this user by ID, email address or role. `me` is the calling user; an API key that sends `me` gets 422.",
        ),
      may_answer: z
        .boolean()
        .default(false)
        .describe(
          "Only pauses the caller can answer now: assigned to the caller, or without assignees. API keys see only pauses without assignees.",
        ),
    }),
    success: { 200: { description: "A page of pauses.", schema: pageOf(listedPauseSchema, "PausePage") } },
    async handler({ query, principal }, { db, reads }) {
      const { org_id } = principal;
      const { status, project_id, assignee, may_answer } = query;
      const { me, whose } = await db.org(org_id, async (connection) => {
        const caller = await personOf(connection, principal);
        return {
          me: caller,
          whose: assignee === undefined ? undefined : await assigned(connection, assignee, caller),
        };
      });
      // An unknown user, and a caller who may decide nothing, have no pauses.
      const isEmpty = whose === null || (may_answer && !roleAllows(highestRole(principal), "editor"));
      const filter = {
        status,
        project_id,
        among: projectsWith(principal, may_answer ? "editor" : "viewer"),
        assignee: whose ?? undefined,
        answerable: may_answer ? { by: answererOf(principal), person: me } : undefined,
      };
      return listPage("pauses", org_id, query, {
        filters: { status, project_id, assignee: assignee === "me" ? me?.user_id : assignee, may_answer },
        fetch: (keyset) =>
          isEmpty
            ? Promise.resolve([])
            : reads.org(org_id, async (connection) =>
                withNodeNames(connection, await listOrganisationPauses(connection, filter, keyset)),
              ),
        idOf: (pause) => pause.pause_id,
        present: (pause) => present(pause, principal, me),
      });
    },
  }),
  define({
    id: "getPause",
    route: "GET /v2/pauses/{pause_id}",
    summary: "Get a pause",
    description: "Returns the pause with its question, the possible actions and the answers received.",
    params: z.object({ pause_id: pathId("pause") }),
    success: { 200: { description: "The pause.", schema: listedPauseSchema } },
    async handler({ params: { pause_id }, principal }, { db }) {
      const { org_id } = principal;
      const { pause, me } = await db.org(org_id, async (connection) => {
        const found = await findPause(connection, pause_id);
        const [pause] = found ? await withNodeNames(connection, [found]) : [];
        return { pause, me: await personOf(connection, principal) };
      });
      if (!pause) throw notFound("pause");
      return { status: 200, body: present(pause, principal, me) };
    },
  }),
];

/** The user that a filter names; null if the user does not exist. Throws 422 for an API key's "me". */
async function assigned(db: Db, assignee: string, me: Person | null): Promise<Person | null> {
  if (assignee === "me") {
    if (me === null) throw invalid(["query", "assignee"], "`me` works only for users. Pass a user ID.");
    return me;
  }
  return findPerson(db, assignee);
}

type NamedPause = ListedPauseRow & { readonly node_name: string | null };

/** Adds the names that flows give to the nodes. */
async function withNodeNames(db: Db, pauses: readonly ListedPauseRow[]): Promise<NamedPause[]> {
  const nameOf = await readNodeNames(db, pauses);
  return pauses.map((pause) => ({ ...pause, node_name: nameOf(pause) }));
}

function present(pause: NamedPause, principal: Principal, me: Person | null): z.infer<typeof listedPauseSchema> {
  const there = asIn(principal, pause.project_id);
  const may_answer = mayAnswer(pause, there, me && { ...me, role: there.role });
  return asDeclared(listedPauseSchema, { ...pause, ...presentPause(pause), may_answer });
}
