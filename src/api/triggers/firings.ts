import { z } from "zod";
import { keyOf, seesSecrets, type Principal } from "../../domain/accounts/principal.ts";
import { required } from "../../domain/errors.ts";
import { jsonObjectSchema } from "../../domain/json-schema.ts";
import { RUN_STATES } from "../../domain/runs/run.ts";
import { FIRING_STATES, KEPT_PAYLOAD_CHARS } from "../../domain/triggers/firing.ts";
import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { maskLiterals } from "../../platform/logging/literal-secrets.ts";
import { repeatFiring } from "../../services/triggers/receive.ts";
import { requireTrigger } from "../../services/triggers/triggers.ts";
import { findFiring, listFirings, type FiringRow } from "../../stores/triggers/firings.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf, linkTo } from "../http/operation.ts";
import { asDeclared, named, pathId } from "../http/schemas.ts";
import { START_PROBLEMS } from "../http/run-request.ts";

const FIRINGS = "/v2/triggers/{id}/firings";
const params = z.object({ id: pathId("trigger") });
const firingParams = params.extend({ firing_id: pathId("firing") });
/** Longest payload in a list (characters), because a page holds up to 200 payloads. */
const LISTED_PAYLOAD_CHARS = 16 * 1024;

export const firingSchema = named("TriggerFiring", {
  firing_id: z.uuid(),
  trigger_id: z.uuid(),
  state: z
    .enum(FIRING_STATES)
    .describe(
      "`pending`: the run has not started yet; `started`: a run was started; `failed`: no run was started, see `error`.",
    ),
  error: z.string().nullable().describe("Why it failed, or what it is waiting for."),
  payload: jsonObjectSchema
    .nullable()
    .describe(
      `The value of \`payload\` in expressions. \`null\` if it is not stored: for a started firing of more than ${KEPT_PAYLOAD_CHARS} characters, and if the flow has \`settings.redact\`.`,
    ),
  payload_omitted: z
    .boolean()
    .describe(
      `Whether this list omits the payload, because it has more than ${LISTED_PAYLOAD_CHARS} characters; get the firing to read it.`,
    ),
  repeat_of: z.uuid().nullable().describe("The firing that this one repeats."),
  run_id: z.uuid().nullable().describe("The run that was started."),
  run_state: z.enum(RUN_STATES).nullable().describe("State of the run; `null` if there is no run, or it was purged."),
  created_at: z.iso.datetime(),
});

function present(firing: FiringRow, reader: Principal, isListed: boolean): z.infer<typeof firingSchema> {
  const { run_id, state, payload, run_state } = firing;
  const payload_omitted = isListed && payload !== null && JSON.stringify(payload).length > LISTED_PAYLOAD_CHARS;
  const shown = payload === null || payload_omitted ? null : payload;
  return asDeclared(firingSchema, {
    ...firing,
    firing_id: run_id,
    payload: shown === null || seesSecrets(reader) ? shown : maskLiterals(shown),
    payload_omitted,
    run_id: state === "started" || run_state !== null ? run_id : null,
  });
}

const define = operationsOf({ tag: "Triggers", auth: "secret" });

/** `/v2/triggers/{id}/firings`: the firings of a trigger, with their outcome. */
export const firingOperations = [
  define({
    id: "listTriggerFirings",
    route: `GET ${FIRINGS}`,
    summary: "List a trigger's firings",
    description:
      "Lists the times the trigger fired, newest first, also when it started no run. Firings are kept as long as events.",
    params,
    query: listQuery.extend({ state: z.enum(FIRING_STATES).optional() }),
    success: { 200: { description: "A page of firings.", schema: pageOf(firingSchema) } },
    async handler({ params: { id }, query, principal }, { db, reads }) {
      const { org_id } = principal;
      await db.org(org_id, (connection) => requireTrigger(connection, id));
      const { state } = query;
      return listPage("trigger-firings", org_id, query, {
        filters: { id, state },
        fetch: (keyset) => reads.org(org_id, (connection) => listFirings(connection, id, state ?? null, keyset)),
        idOf: ({ run_id }) => run_id,
        present: (firing) => present(firing, principal, true),
      });
    },
  }),
  define({
    id: "getTriggerFiring",
    route: `GET ${FIRINGS}/{firing_id}`,
    summary: "Get a trigger's firing",
    description: "Returns the firing with its whole payload.",
    params: firingParams,
    success: { 200: { description: "The firing.", schema: firingSchema } },
    async handler({ params: { id, firing_id }, principal }, { db }) {
      const firing = await db.org(principal.org_id, async (connection) => {
        await requireTrigger(connection, id);
        return required(await findFiring(connection, id, firing_id), "firing");
      });
      return { status: 200, body: present(firing, principal, false) };
    },
  }),
  define({
    id: "repeatTriggerFiring",
    route: `POST ${FIRINGS}/{firing_id}/repeat`,
    summary: "Fire a trigger again",
    description:
      "Starts a run of the published flow with the payload of an earlier firing and the trigger's current expressions. Works for disabled triggers. It is recorded as a new firing. If the expressions or the flow reject the payload, the call returns 422 and the new firing is `failed`.",
    params: firingParams,
    idempotent: true,
    problems: [...START_PROBLEMS, "conflict", "service_unavailable"],
    success: {
      202: {
        description: "The run was accepted.",
        schema: named("TriggerFiringRepeated", { firing_id: z.uuid(), run_id: z.uuid() }),
        headers: { Location: "URL of the run." },
        links: { get: linkTo("getRun", ["run_id"]) },
      },
    },
    async handler({ params: { id, firing_id }, principal, newId, ctx }, { db, secrets, starting }) {
      const { org_id } = principal;
      const trigger = await db.org(org_id, (connection) => requireTrigger(connection, id));
      const run_id = newId();
      const caller = callerOfRequest(secrets, org_id, ctx.headers);
      await repeatFiring(starting, trigger, { firing_id, run_id, caller, key_id: keyOf(principal) });
      return { status: 202, body: { firing_id: run_id, run_id }, headers: { Location: `/v2/runs/${run_id}` } };
    },
  }),
];
