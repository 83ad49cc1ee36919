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
import { ShownOnce } from "../../parts/shown-once.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { describeLimits, KeyLimitFields, limitsIn } from "./key-limits.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Submit } from "../../parts/submit.tsx";

export function Keys(): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(keysOptions);
  const [isAdding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<ApiKey | null>(null);
  const revoke = useAccountChange("api-keys", revokeKey);
  if (isPending) return <Loading what="keys" />;
  if (data === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  return (
    <>
      <div className="row">
        <button type="button" className="button button-primary" onClick={() => setAdding(true)}>
          <Icon name="plus" /> Make a key
        </button>
      </div>
      {data.data.length === 0 ? (
        <Empty title="No key yet">
          Programs call the API with a key: a public one runs flows, a secret one may do everything.
        </Empty>
      ) : (
        <Table
          caption="API keys"
          rows={data.data}
          keyOf={(key) => key.key_id}
          columns={[
            {
              id: "name",
              head: "Name",
              cell: (key) => (
                <span className="wrap">
                  {key.name} <CopyButton text={key.key_id} label={`id of ${key.name}`} />
                </span>
              ),
            },
            { id: "kind", head: "Kind", cell: (key) => key.kind },
            { id: "prefix", head: "Begins with", wideOnly: true, cell: (key) => <code>{key.prefix}…</code> },
            { id: "used", head: "Last used", cell: (key) => <Time at={key.last_used_at} /> },
            { id: "expires", head: "Expires", wideOnly: true, cell: (key) => <Time at={key.expires_at} /> },
            {
              id: "limits",
              head: "Limits",
              wideOnly: true,
              cell: (key) => <span className="wrap">{describeLimits(key)}</span>,
            },
            { id: "made", head: "Made", wideOnly: true, cell: (key) => <Time at={key.created_at} /> },
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
      )}
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
          Within five seconds whatever uses it is refused. It cannot be taken back.
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
        title="The new key"
        what="key"
        secret={create.data.key}
        note="It is shown now and never again."
        onClose={onClose}
      />
    );
  return (
    <Dialog title="Make a key" onClose={onClose}>
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
        <Field label="Name" hint="What it is for." errors={errorsAt(problem, "name")}>
          {(control) => <input className="input" name="name" data-first {...control} />}
        </Field>
        <Field label="Kind">
          {(control) => (
            <select className="input" name="kind" {...control}>
              <option value="public">Public: runs flows and uploads; may be read by others</option>
              <option value="secret">Secret: everything an admin may do</option>
            </select>
          )}
        </Field>
        <Field
          label="Expires (optional)"
          hint="At the end of that day, where you are."
          errors={errorsAt(problem, "expires_at")}
        >
          {(control) => <input className="input" name="expires" type="date" {...control} />}
        </Field>
        <KeyLimitFields problem={problem} />
        {problem && problem.status !== 422 && <Failure fault={problem} />}
        <Submit isPending={create.isPending}>Make the key</Submit>
      </form>
    </Dialog>
  );
}

/** A date alone would be midnight in Greenwich, which is another day for some readers. */
const endOfDay = (date: string): string => new Date(`${date}T23:59:59.999`).toISOString();
