import { useState, type JSX } from "react";
import { Icon } from "../icons.tsx";
import { Menu } from "../menu.tsx";
import { initialData, setAt, startOf } from "./data.ts";
import { useForm, useMessages, type Change, type ControlProps } from "./form-context.ts";
import { Errors, GroupHint, labelOf, Warnings } from "./frame.tsx";
import { controlOf, readSchema } from "./schema.ts";
import { variantsOf } from "./variants.ts";

const PAGE = 100;

/** A list: one part for each item, in an order that can be changed. */
export function List(props: ControlProps): JSX.Element {
  const { schema, value, change, path, depth, required } = props;
  const { root, Part, fillsDefaults } = useForm();
  const [pages, setPages] = useState(1);
  const given = value ?? schema.default;
  // The items of the default are shown, and are in the data once one of them changes.
  const items = Array.isArray(given) ? (given as unknown[]) : [];
  const { errors, warnings } = useMessages(path);
  const keys = useItemKeys(items.length);
  const item = readSchema(schema.items, root);
  const isUnion = controlOf(item, root) === "union";
  const variants = isUnion ? variantsOf(item, root) : [];
  const isBlock = isUnion || ["members", "record", "list"].includes(controlOf(item, root));
  const name = item.title ?? "Item";
  const isEmptied = !required && !fillsDefaults && schema.default === undefined;
  const replace = (next: readonly unknown[]): void => change(path, next.length === 0 && isEmptied ? undefined : next);
  const changeItem: Change = (at, next) => {
    const set = next === undefined && at.length === path.length + 1 ? null : next;
    if (Array.isArray(value)) change(at, set);
    else change(path, setAt(items, at.slice(path.length), set));
  };
  const add = (start: unknown): void => replace([...items, start ?? null]);
  const move = (from: number, to: number): void => {
    keys.move(from, to);
    replace(items.toSpliced(from, 1).toSpliced(to, 0, items[from]));
  };
  return (
    <fieldset className="form-group">
      <legend>{labelOf(props)}</legend>
      <GroupHint text={schema.description} />
      {items.slice(0, pages * PAGE).map((each, index) => (
        <div key={keys.all[index]} className={isBlock ? "form-item form-item-block" : "form-item"}>
          <Part
            schema={schema.items}
            value={each}
            change={changeItem}
            label={`${name} ${index + 1}`}
            path={[...path, index]}
            required
            depth={depth + 1}
            language={schema["x-language"] ?? props.language}
          />
          <div className="form-item-buttons">
            {items.length > 1 && (
              <>
                <button
                  type="button"
                  className="button button-quiet button-small form-up"
                  aria-label={`Move item ${index + 1} up`}
                  disabled={index === 0}
                  onClick={() => move(index, index - 1)}
                >
                  <Icon name="chevron" />
                </button>
                <button
                  type="button"
                  className="button button-quiet button-small form-down"
                  aria-label={`Move item ${index + 1} down`}
                  disabled={index === items.length - 1}
                  onClick={() => move(index, index + 1)}
                >
                  <Icon name="chevron" />
                </button>
              </>
            )}
            <button
              type="button"
              className="button button-quiet button-small"
              aria-label={`Remove item ${index + 1}`}
              onClick={() => {
                keys.remove(index);
                replace(items.toSpliced(index, 1));
              }}
            >
              <Icon name="cross" />
            </button>
          </div>
        </div>
      ))}
      {items.length > pages * PAGE && (
        <button type="button" className="button button-small" onClick={() => setPages(pages + 1)}>
          Show more ({items.length.toLocaleString()} in total)
        </button>
      )}
      <div
        role="presentation"
        className="row"
        onKeyDown={(event) => {
          // Escape closes the menu only, not what is around the form.
          if (event.key === "Escape" && event.currentTarget.querySelector("details[open]")) event.preventDefault();
        }}
      >
        {isUnion ? (
          <Menu name="Add item" closes>
            {variants.map((variant, index) => (
              <button
                key={index}
                type="button"
                className="button button-quiet button-small"
                onClick={() => add(startOf(variant.schema, root))}
              >
                {variant.label}
              </button>
            ))}
          </Menu>
        ) : (
          <button
            type="button"
            className="button button-small"
            onClick={() => add(fillsDefaults ? initialData(schema.items, root) : startOf(schema.items, root))}
          >
            <Icon name="plus" /> Add item
          </button>
        )}
      </div>
      <Warnings warnings={warnings} />
      <Errors errors={errors} />
    </fieldset>
  );
}

interface ItemKeys {
  readonly all: readonly number[];
  readonly remove: (index: number) => void;
  readonly move: (from: number, to: number) => void;
}

/** A stable key for each item, because a control holds text of its own, which must not move to another item when one is removed. */
function useItemKeys(length: number): ItemKeys {
  const [{ known, next }, setKeys] = useState({ known: [] as readonly number[], next: 0 });
  const more = Array.from({ length: Math.max(0, length - known.length) }, (_, index) => next + index);
  if (more.length > 0) setKeys({ known: [...known, ...more], next: next + more.length });
  return {
    all: [...known, ...more],
    remove: (index) => setKeys((now) => ({ ...now, known: now.known.toSpliced(index, 1) })),
    move: (from, to) =>
      setKeys((now) => ({
        ...now,
        known: now.known.toSpliced(from, 1).toSpliced(to, 0, ...now.known.slice(from, from + 1)),
      })),
  };
}
