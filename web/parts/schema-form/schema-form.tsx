import { useState } from "react";
import type { JSX } from "react";
import { Icon } from "../icons.tsx";
import { Check, Choice, Json, NumberInput, Text } from "./controls.tsx";
import { initialData, pathKey, typeOf } from "./schema.ts";
import type { FormErrors, FormSchema, PartProps } from "./schema.ts";

const MAX_DEPTH = 6;

/** A form made of a JSON Schema. Empty fields are left out of the data; errors stand at the field that they are about. */
export function SchemaForm({
  schema,
  value,
  onChange,
  errors,
}: {
  readonly schema: FormSchema;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly errors: FormErrors;
}): JSX.Element {
  return (
    <Part
      schema={schema}
      value={value}
      onChange={onChange}
      label={schema.title ?? "Data"}
      path={[]}
      errors={errors}
      required
      depth={0}
    />
  );
}

function Part(props: PartProps): JSX.Element {
  const { schema, depth } = props;
  if (schema.enum !== undefined) return <Choice {...props} />;
  if (depth < MAX_DEPTH && schema.properties !== undefined) return <Members {...props} />;
  switch (typeOf(schema)) {
    case "string":
      return <Text {...props} />;
    case "number":
    case "integer":
      return <NumberInput {...props} />;
    case "boolean":
      return <Check {...props} />;
    case "array":
      return depth < MAX_DEPTH && schema.items !== undefined ? <Items {...props} /> : <Json {...props} />;
    default:
      return <Json {...props} />;
  }
}

function Members(props: PartProps): JSX.Element {
  const { schema, value, onChange, label, path, errors, required, depth } = props;
  const data = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const own = errors.get(pathKey(path)) ?? [];
  const fields = inOrder(schema).map(([name, member]) => (
    <Part
      key={name}
      schema={member}
      value={Object.hasOwn(data, name) ? data[name] : undefined}
      onChange={(next) => {
        const { [name]: _, ...rest } = data;
        const changed = next === undefined ? rest : { ...rest, [name]: next };
        // An optional object without any given member is left out: its own required members would be missed.
        onChange(!required && Object.keys(changed).length === 0 ? undefined : changed);
      }}
      label={member.title ?? name}
      path={[...path, name]}
      errors={errors}
      required={schema.required?.includes(name) ?? false}
      depth={depth + 1}
    />
  ));
  const faults = own.length > 0 && (
    <span className="small field-error" role="alert">
      {own.join(" ")}
    </span>
  );
  if (depth === 0)
    return (
      <div className="stack">
        {schema.description !== undefined && <p className="muted">{schema.description}</p>}
        {fields}
        {faults}
      </div>
    );
  return (
    <fieldset className="stack">
      <legend>{label}</legend>
      {fields}
      {faults}
    </fieldset>
  );
}

/** The required ones first, in their order: that of the properties is lost where the schema is stored. */
function inOrder({ properties = {}, required = [] }: FormSchema): Array<[string, FormSchema]> {
  const rank = (name: string): number => (required.includes(name) ? required.indexOf(name) : required.length);
  return Object.entries(properties).toSorted(([one], [other]) => rank(one) - rank(other));
}

function Items(props: PartProps): JSX.Element {
  const { schema, value, onChange, label, path, errors, depth } = props;
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  const own = errors.get(pathKey(path)) ?? [];
  const keys = useItemKeys(items.length);
  return (
    <fieldset className="stack-tight">
      <legend>{label}</legend>
      {schema.description !== undefined && <span className="small muted">{schema.description}</span>}
      {items.map((item, index) => (
        <div key={keys.all[index]} className="stack-tight">
          <Part
            schema={schema.items ?? {}}
            value={item}
            onChange={(next) => onChange(items.with(index, next ?? null))}
            label={`${schema.items?.title ?? "Item"} ${index + 1}`}
            path={[...path, index]}
            errors={errors}
            required
            depth={depth + 1}
          />
          <div className="row">
            <button
              type="button"
              className="button button-small"
              onClick={() => {
                keys.remove(index);
                onChange(items.toSpliced(index, 1));
              }}
            >
              Remove {index + 1}
            </button>
          </div>
        </div>
      ))}
      <div className="row">
        <button
          type="button"
          className="button button-small"
          onClick={() => onChange([...items, initialData(schema.items ?? {}) ?? null])}
        >
          <Icon name="plus" /> Add
        </button>
      </div>
      {own.length > 0 && (
        <span className="small field-error" role="alert">
          {own.join(" ")}
        </span>
      )}
    </fieldset>
  );
}

/** A key for each item that stays with it when others are removed: controls keep a text of their own, which must not move to another. */
function useItemKeys(length: number): { readonly all: readonly number[]; readonly remove: (index: number) => void } {
  const [{ known, next }, setKeys] = useState({ known: [] as readonly number[], next: 0 });
  const more = Array.from({ length: Math.max(0, length - known.length) }, (_, index) => next + index);
  if (more.length > 0) setKeys({ known: [...known, ...more], next: next + more.length });
  return {
    all: [...known, ...more],
    remove: (index) => setKeys((now) => ({ ...now, known: now.known.toSpliced(index, 1) })),
  };
}
