import type { JSX } from "react";
import type { ProjectRole } from "../../api/accounts.ts";
import { Field } from "../../parts/field.tsx";
import type { Column } from "../../parts/table.tsx";
import { RoleChoice } from "./role-choice.tsx";

const ROLES: readonly ProjectRole[] = ["viewer", "editor", "admin"];

/** A column that shows the role in a project and lets admins change it. */
export function roleColumn<Row extends { readonly role: ProjectRole }>({
  head,
  labelOf,
  isPending,
  onApply,
}: {
  readonly head: string;
  readonly labelOf: (row: Row) => string;
  readonly isPending: boolean;
  readonly onApply: (row: Row, role: ProjectRole) => void;
}): Column<Row> {
  return {
    id: "role",
    head,
    cell: (row) => (
      <RoleChoice
        key={row.role}
        label={labelOf(row)}
        role={row.role}
        roles={ROLES}
        isPending={isPending}
        onApply={(chosen) => onApply(row, chosen)}
      />
    ),
  };
}

/** A column with a button that removes the role; `of` completes the button's label. */
export function takeAwayColumn<Row>({
  of,
  isPending,
  onTakeAway,
}: {
  readonly of: (row: Row) => string;
  readonly isPending: boolean;
  readonly onTakeAway: (row: Row) => void;
}): Column<Row> {
  return {
    id: "actions",
    head: "Actions",
    cell: (row) => (
      <button
        type="button"
        className="button button-small button-danger"
        aria-label={`Remove the role ${of(row)}`}
        data-row
        disabled={isPending}
        onClick={() => onTakeAway(row)}
      >
        Remove
      </button>
    ),
  };
}

/** Field for the role in a form, named `role`. */
export function RoleField(): JSX.Element {
  return (
    <Field label="Role">
      {(control) => (
        <select className="input" name="role" {...control}>
          {ROLES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      )}
    </Field>
  );
}
