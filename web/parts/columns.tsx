import { useState, type JSX } from "react";
import { keep, readKept } from "./kept.ts";
import { Menu } from "./menu.tsx";
import type { Column } from "./table.tsx";

const key = (list: string): string => `millrace.columns.${list}`;

/** Columns of a list that are visible, as the user has chosen in this browser. Columns without a `choice` are always visible. */
export function useColumns<Row>(
  list: string,
  columns: ReadonlyArray<Column<Row>>,
): { readonly shown: ReadonlyArray<Column<Row>>; readonly chooser: JSX.Element } {
  const [chosen, setChosen] = useState(() => read(list));
  const isShown = ({ id, choice }: Column<Row>): boolean => choice === undefined || (chosen[id] ?? choice === "shown");
  const change = (next: Readonly<Record<string, boolean>>): void => {
    setChosen(next);
    keep(key(list), JSON.stringify(next));
  };
  const choosable = columns.filter(({ choice }) => choice !== undefined);
  return {
    shown: columns.filter(isShown),
    chooser: (
      <Chooser
        options={choosable.map((column) => ({ id: column.id, name: column.head, isShown: isShown(column) }))}
        onChange={(id, shown) => change({ ...chosen, [id]: shown })}
        onReset={() => change({})}
      />
    ),
  };
}

function Chooser({
  options,
  onChange,
  onReset,
}: {
  readonly options: ReadonlyArray<{ readonly id: string; readonly name: string; readonly isShown: boolean }>;
  readonly onChange: (id: string, isShown: boolean) => void;
  readonly onReset: () => void;
}): JSX.Element {
  return (
    <Menu name="Columns">
      {options.map(({ id, name, isShown }) => (
        <label key={id} className="check">
          <input type="checkbox" checked={isShown} onChange={(event) => onChange(id, event.target.checked)} />
          {name}
        </label>
      ))}
      <button type="button" className="button button-small" onClick={onReset}>
        Reset columns
      </button>
    </Menu>
  );
}

/** The stored value may come from another version of the console. */
function read(list: string): Readonly<Record<string, boolean>> {
  try {
    const known: unknown = JSON.parse(readKept(key(list)) ?? "{}");
    const members = typeof known === "object" && known !== null ? Object.entries(known) : [];
    return Object.fromEntries(members.filter((each): each is [string, boolean] => typeof each[1] === "boolean"));
  } catch {
    return {};
  }
}
