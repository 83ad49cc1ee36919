import { useEffect, useId, useRef, useState, type JSX } from "react";
import { Icon } from "../icons.tsx";
import { startOf } from "./data.ts";
import { useForm, useMessages, type Change, type ControlProps } from "./form-context.ts";
import { Errors, GroupHint, labelOf, Warnings } from "./frame.tsx";
import type { FormSchema } from "./schema.ts";

const PAGE = 100;

/** An object with any keys: one row for each entry. `taken`: keys that have fields of their own. */
export function Entries({
  props,
  taken = [],
}: {
  readonly props: ControlProps;
  readonly taken?: readonly string[];
}): JSX.Element {
  const { schema, value, change, path, depth, required } = props;
  const { root, Part } = useForm();
  const [pages, setPages] = useState(1);
  const [added, setAdded] = useState("");
  const data = typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  const others = typeof schema.additionalProperties === "object" ? (schema.additionalProperties as FormSchema) : {};
  const keys = Object.keys(data).filter((key) => !taken.includes(key));
  const isEmptied = !required && schema.default === undefined && taken.length === 0;
  const replace = (entries: ReadonlyArray<readonly [string, unknown]>): void =>
    change(path, entries.length === 0 && isEmptied ? undefined : Object.fromEntries(entries));
  const changeEntry: Change = (at, next) => change(at, next === undefined && at.length === path.length + 1 ? "" : next);
  const rename = (from: string, to: string): void =>
    replace(Object.entries(data).map(([key, each]) => [key === from ? to : key, each]));
  const add = (): void => {
    let count = keys.length + 1;
    while (Object.hasOwn(data, `name-${count}`) || taken.includes(`name-${count}`)) count += 1;
    setAdded(`name-${count}`);
    replace([...Object.entries(data), [`name-${count}`, startOf(others, root)]]);
  };
  return (
    <div className="stack-tight">
      {keys.slice(0, pages * PAGE).map((key, index) => (
        <div key={index} className="form-entry">
          <KeyInput
            name={key}
            others={Object.keys(data)}
            taken={taken}
            isNew={added === key}
            onShown={() => setAdded("")}
            onRename={(to) => rename(key, to)}
          />
          <Part
            schema={others}
            value={data[key]}
            change={changeEntry}
            label={`Value of ${key}`}
            path={[...path, key]}
            required
            depth={depth + 1}
            language={schema["x-language"] ?? props.language}
          />
          <button
            type="button"
            className="button button-quiet button-small form-remove"
            aria-label={`Remove ${key}`}
            onClick={() => replace(Object.entries(data).filter(([each]) => each !== key))}
          >
            <Icon name="cross" />
          </button>
        </div>
      ))}
      {keys.length > pages * PAGE && (
        <button type="button" className="button button-small" onClick={() => setPages(pages + 1)}>
          Show more ({keys.length.toLocaleString()} in total)
        </button>
      )}
      <div className="row">
        <button type="button" className="button button-small" onClick={add}>
          <Icon name="plus" /> Add entry
        </button>
      </div>
    </div>
  );
}

export function Entry(props: ControlProps): JSX.Element {
  const { schema, path } = props;
  const { errors, warnings } = useMessages(path);
  return (
    <fieldset className="form-group">
      <legend>{labelOf(props)}</legend>
      <GroupHint text={schema.description} />
      <Entries props={props} />
      <Warnings warnings={warnings} />
      <Errors errors={errors} />
    </fieldset>
  );
}

/** The name of an entry. A name that cannot be used stays in the field and out of the data. */
function KeyInput({
  name,
  others,
  taken,
  isNew,
  onShown,
  onRename,
}: {
  readonly name: string;
  readonly others: readonly string[];
  readonly taken: readonly string[];
  readonly isNew: boolean;
  readonly onShown: () => void;
  readonly onRename: (to: string) => void;
}): JSX.Element {
  const [typed, setTyped] = useState({ text: name, name });
  const id = useId();
  const text = typed.name === name ? typed.text : name;
  const isTaken = text !== name && (others.includes(text) || taken.includes(text));
  const input = useRef<HTMLInputElement>(null);
  const fault = isTaken ? `“${text}” is already there.` : text === "" ? "Enter a name." : "";
  useEffect(() => input.current?.setCustomValidity(fault), [fault]);
  useEffect(() => {
    if (!isNew) return;
    input.current?.focus();
    input.current?.select();
    onShown();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once, when the entry is new
  }, [isNew]);
  return (
    <div className="field">
      <input
        ref={input}
        className="input mono"
        aria-label="Entry name"
        aria-invalid={fault === "" ? undefined : true}
        aria-describedby={fault === "" ? undefined : id}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={({ target }) => {
          const to = target.value;
          const isUsable = to !== "" && (to === name || !(others.includes(to) || taken.includes(to)));
          setTyped({ text: to, name: isUsable ? to : name });
          if (isUsable && to !== name) onRename(to);
        }}
      />
      {fault !== "" && (
        <span id={id} className="small field-error" role="alert">
          {fault}
        </span>
      )}
    </div>
  );
}
