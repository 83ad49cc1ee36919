import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { useMay } from "../../api/accounts.ts";
import {
  FIRING_STATES,
  firingOptions,
  firingsOptions,
  repeatFiring,
  useTriggerAction,
  type Firing,
  type ShownTrigger,
} from "../../api/triggers.ts";
import { links } from "../../links.ts";
import { announce } from "../../parts/announce.tsx";
import { shortId } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Fetched } from "../../parts/list/fetched.tsx";
import { List } from "../../parts/list/list.tsx";
import { useListOrder } from "../list-order.ts";
import { StateSelect } from "../../parts/state-select.tsx";
import { Failure } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { Value } from "../../parts/value.tsx";
import { useFilters } from "../filters.ts";

/** Each time that a trigger fired: the run that it started, or why it started none, and the payload. */
export function Firings({ trigger: { id, project_id } }: { readonly trigger: ShownTrigger }): JSX.Element {
  const [search, put] = useFilters();
  const state = FIRING_STATES.find((each) => each === search.get("state"));
  const chosen = search.get("firing");
  const order = useListOrder("at");
  const mayEdit = useMay("editor", project_id);
  const repeat = useTriggerAction(repeatFiring);
  return (
    <div className="stack-tight">
      <h2>Firings</h2>
      {repeat.error && <Failure fault={repeat.error} />}
      <List
        query={useInfiniteQuery(firingsOptions(id, state, order.value))}
        items="firings"
        caption="Firings"
        keyOf={({ firing_id }) => firing_id}
        order={order}
        line={
          <StateSelect
            label="State of firings"
            states={FIRING_STATES}
            value={state}
            onChange={(next) => put("state", next)}
          />
        }
        empty={{ title: "Has not fired yet", text: "Each firing appears here, with its run and its payload." }}
        onClear={state === undefined ? undefined : () => put("state", null)}
        columns={[
          { id: "state", head: "State", cell: (each) => <Status state={each.state} /> },
          { id: "at", head: "Time", cell: (each) => <Time at={each.created_at} /> },
          { id: "run", head: "Run", cell: (each) => <Started firing={each} /> },
          {
            id: "actions",
            head: "Actions",
            cell: ({ firing_id }) => (
              <span className="row">
                <button type="button" className="button button-small" data-row onClick={() => put("firing", firing_id)}>
                  Payload
                </button>
                {mayEdit && (
                  <button
                    type="button"
                    className="button button-small"
                    disabled={repeat.isPending}
                    onClick={() =>
                      repeat.mutate({ id, firing_id }, { onSuccess: () => announce("The trigger fired again") })
                    }
                  >
                    Repeat
                  </button>
                )}
              </span>
            ),
          },
        ]}
      />
      {chosen !== null && <Payload id={id} firingId={chosen} onClose={() => put("firing", null)} />}
    </div>
  );
}

function Started({ firing: { run_id, run_state, error, repeat_of } }: { readonly firing: Firing }): JSX.Element {
  return (
    <span className="wrap">
      {run_id !== null && (
        <Link to={links.run(run_id)}>
          <code>{shortId(run_id)}</code>
        </Link>
      )}{" "}
      {run_state !== null && <Status state={run_state} />}
      {error !== null && <span className="small"> {error}</span>}
      {repeat_of !== null && <span className="small muted"> repeats {shortId(repeat_of)}</span>}
    </span>
  );
}

function Payload({
  id,
  firingId,
  onClose,
}: {
  readonly id: string;
  readonly firingId: string;
  readonly onClose: () => void;
}): JSX.Element {
  const firing = useQuery(firingOptions(id, firingId));
  return (
    <Dialog title="Payload" onClose={onClose} wide>
      <Fetched query={firing} what="the payload" rows={3}>
        {({ payload }) =>
          payload === null ? (
            <p className="muted">The payload is not stored.</p>
          ) : (
            <Value value={payload} label="Payload of the firing" />
          )
        }
      </Fetched>
    </Dialog>
  );
}
