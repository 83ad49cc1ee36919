import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { keysOptions, revokeKey, useAccountChange, type ApiKey } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { Icon } from "../../parts/icons.tsx";
import { List } from "../../parts/list/list.tsx";
import { useListOrder } from "../list-order.ts";
import { NewKey } from "../new-key.tsx";
import { Time } from "../../parts/time.tsx";
import { describeLimits, KeyLimitFields, limitsIn } from "./key-limits.tsx";

export function Keys(): JSX.Element {
  const order = useListOrder("made");
  const list = useQuery(keysOptions(order.value));
  const [isAdding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<ApiKey | null>(null);
  const revoke = useAccountChange("api-keys", revokeKey);
  const create = (
    <button type="button" className="button button-primary" onClick={() => setAdding(true)}>
      <Icon name="plus" /> Create API key
    </button>
  );
  return (
    <>
      {list.data?.data.length !== 0 && <div className="row">{create}</div>}
      <List
        query={list}
        order={order}
        items="API keys"
        caption="API keys"
        empty={{ title: "No API keys yet", text: "Programs authenticate with an API key.", action: create }}
        keyOf={(key) => key.key_id}
        columns={[
          {
            id: "name",
            head: "Name",
            cell: (key) => (
              <span className="wrap">
                {key.name} <CopyButton text={key.key_id} label={`ID of ${key.name}`} />
              </span>
            ),
          },
          { id: "kind", head: "Type", cell: (key) => key.kind },
          { id: "prefix", head: "Prefix", wideOnly: true, cell: (key) => <code>{key.prefix}…</code> },
          { id: "used", head: "Last used", cell: (key) => <Time at={key.last_used_at} /> },
          { id: "expires", head: "Expires", wideOnly: true, cell: (key) => <Time at={key.expires_at} /> },
          {
            id: "limits",
            head: "Restrictions",
            wideOnly: true,
            cell: (key) => <span className="wrap">{describeLimits(key)}</span>,
          },
          { id: "made", head: "Created", wideOnly: true, cell: (key) => <Time at={key.created_at} /> },
          {
            id: "actions",
            head: "Actions",
            cell: (key) => (
              <button
                type="button"
                className="button button-small button-danger"
                data-row
                onClick={() => setLeaving(key)}
              >
                Revoke…
              </button>
            ),
          },
        ]}
      />
      {isAdding && <MakeKey onClose={() => setAdding(false)} />}
      {leaving && (
        <Confirm
          title={`Revoke ${leaving.name}`}
          action="Revoke"
          fault={revoke.error && toProblem(revoke.error)}
          isPending={revoke.isPending}
          onClose={() => setLeaving(null)}
          onConfirm={() => revoke.mutate(leaving.key_id, { onSuccess: () => setLeaving(null) })}
        >
          Requests that use this key are rejected within five seconds. You cannot undo this.
        </Confirm>
      )}
    </>
  );
}

function MakeKey({ onClose }: { readonly onClose: () => void }): JSX.Element {
  return (
    <NewKey
      limits={(given) => {
        const expires = given("expires");
        return { ...(expires !== "" && { expires_at: endOfDay(expires) }), ...limitsIn(given) };
      }}
      secret="full API access"
      onClose={onClose}
    >
      {(problem) => (
        <>
          <Field
            label="Expires (optional)"
            hint="Expires at the end of that day in your time zone."
            errors={errorsAt(problem, "expires_at")}
          >
            {(control) => <input className="input" name="expires" type="date" {...control} />}
          </Field>
          <KeyLimitFields problem={problem} />
        </>
      )}
    </NewKey>
  );
}

/** A date without a time would mean midnight UTC, which is another day for some users. */
const endOfDay = (date: string): string => new Date(`${date}T23:59:59.999`).toISOString();
