import { useState } from "react";
import type { JSX } from "react";

/** An arrow key chooses; only the button changes what somebody may do. */
export function RoleChoice<Role extends string>({
  label,
  role,
  roles,
  isPending,
  onApply,
}: {
  readonly label: string;
  readonly role: Role;
  readonly roles: readonly Role[];
  readonly isPending: boolean;
  readonly onApply: (role: Role) => void;
}): JSX.Element {
  const [chosen, setChosen] = useState<Role>(role);
  return (
    <span className="row">
      <select
        className="input role-choice"
        aria-label={label}
        value={chosen}
        onChange={(event) => setChosen(event.target.value as Role)}
      >
        {roles.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
      {chosen !== role && (
        <button type="button" className="button button-small" disabled={isPending} onClick={() => onApply(chosen)}>
          Make {chosen}
        </button>
      )}
    </span>
  );
}
