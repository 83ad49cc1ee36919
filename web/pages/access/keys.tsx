import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { createKey, keysOptions, revokeKey, useAccountChange } from "../../api/accounts.ts";
import type { ApiKey } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { Icon } from "../../parts/icons.tsx";
import { List } from "../../parts/list/list.tsx";
import { useListOrder } from "../list-order.ts";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { Failure } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { describeLimits, KeyLimitFields, limitsIn } from "./key-limits.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Submit } from "../../parts/submit.tsx";

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
  const create = useAccountChange("api-keys", createKey);
  const problem = create.error && toProblem(create.error);
  if (create.data)
    return (
      <ShownOnce
        title="New API key"
        what="key"
        secret={create.data.key}
        note="Copy it now. You cannot see it again."
        onClose={onClose}
      />
    );
  return (
    <Dialog title="Create API key" onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={onTexts((given) => {
          const expires = given("expires");
          create.mutate({
            name: given("name"),
            kind: given("kind") === "secret" ? "secret" : "public",
            ...(expires !== "" && { expires_at: endOfDay(expires) }),
            ...limitsIn(given),
          });
        })}
      >
        <Field
          label="Name"
          hint="What the key is for, e.g. the name of the program."
          errors={errorsAt(problem, "name")}
        >
          {(control) => <input className="input" name="name" data-first {...control} />}
        </Field>
        <Field label="Type">
          {(control) => (
            <select className="input" name="kind" {...control}>
              <option value="public">Public: runs flows and uploads documents; safe in a web page</option>
              <option value="secret">Secret: full API access; keep it on servers</option>
            </select>
          )}
        </Field>
        <Field
          label="Expires (optional)"
          hint="Expires at the end of that day in your time zone."
          errors={errorsAt(problem, "expires_at")}
        >
          {(control) => <input className="input" name="expires" type="date" {...control} />}
        </Field>
        <KeyLimitFields problem={problem} />
        {problem && problem.status !== 422 && <Failure fault={problem} />}
        <Submit isPending={create.isPending}>Create key</Submit>
      </form>
    </Dialog>
  );
}

/** A date without a time would mean midnight UTC, which is another day for some users. */
const endOfDay = (date: string): string => new Date(`${date}T23:59:59.999`).toISOString();
