import { useState, type JSX } from "react";

/** Arrow keys only change the selection; the role changes when the button is pressed. */
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
          Change to {chosen}
        </button>
      )}
    </span>
  );
}
