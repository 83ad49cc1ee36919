import { useState, type JSX } from "react";
import { useMay } from "../../api/accounts.ts";
import { Field } from "../../parts/field.tsx";
import { NewKey } from "../new-key.tsx";

/** The key to send a call with; it stays in the memory of this page. Admins can create one. */
export function KeyField({
  projectId,
  value,
  onChange,
}: {
  readonly projectId: string;
  readonly value: string;
  readonly onChange: (key: string) => void;
}): JSX.Element {
  const isAdmin = useMay("admin");
  const [isAdding, setAdding] = useState(false);
  return (
    <div className="key-field">
      <Field label="API key (optional)" hint="Stays in this page's memory only.">
        {(control) => (
          <input
            className="input mono"
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={(event) => onChange(event.target.value)}
            {...control}
          />
        )}
      </Field>
      {isAdmin && (
        <button type="button" className="button" onClick={() => setAdding(true)}>
          Create key…
        </button>
      )}
      {isAdding && (
        <NewKey
          limits={() => ({ projects: [projectId] })}
          secret="full API access to this flow"
          hint="The key works only for this flow."
          note="This page uses it until you leave it."
          onKey={onChange}
          onClose={() => setAdding(false)}
        />
      )}
    </div>
  );
}
