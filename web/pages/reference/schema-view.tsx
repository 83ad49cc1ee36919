import { useState, type JSX, type ReactNode } from "react";
import type { Reference, Schema } from "../../api/reference.ts";
import { Inline } from "./prose.tsx";

type Resolve = Reference["resolve"];

/** The fields of a schema. Nested fields are drawn when they are opened, because some schemas contain themselves. */
export function SchemaView({ schema, resolve }: { readonly schema: Schema; readonly resolve: Resolve }): JSX.Element {
  const whole = resolve<Schema>(schema);
  return (
    <div className="schema stack-tight">
      <p className="small">
        <Shape schema={schema} resolve={resolve} />
      </p>
      {whole.description !== undefined && (
        <p className="small wrap">
          <Inline text={whole.description} />
        </p>
      )}
      <Inside schema={whole} resolve={resolve} />
    </div>
  );
}

/** The content of a schema: fields, items, alternatives. */
function Inside({ schema, resolve }: { readonly schema: Schema; readonly resolve: Resolve }): JSX.Element | null {
  const alternatives = alternativesOf(schema, resolve);
  const extra = schema.additionalProperties;
  return (
    <ul>
      {Object.entries(schema.properties ?? {}).map(([name, each]) => (
        <Member
          key={name}
          name={name}
          schema={each}
          required={schema.required?.includes(name) ?? false}
          resolve={resolve}
        />
      ))}
      {schema.items && <Member name="each item" schema={schema.items} resolve={resolve} />}
      {typeof extra === "object" && Object.keys(extra).length > 0 && (
        <Member name="any other field" schema={extra} resolve={resolve} />
      )}
      {alternatives.map((each, index) => (
        <Member
          key={index}
          name={schema.allOf ? "and" : index === 0 ? "either" : "or"}
          schema={each}
          resolve={resolve}
        />
      ))}
    </ul>
  );
}

function Member({
  name,
  schema,
  required,
  resolve,
}: {
  readonly name: string;
  readonly schema: Schema;
  readonly required?: boolean;
  readonly resolve: Resolve;
}): JSX.Element {
  const whole = resolve<Schema>(schema);
  const description = schema.description ?? whole.description;
  const head: ReactNode = (
    <>
      <code className="schema-name">{name}</code> <Shape schema={schema} resolve={resolve} />
      {required === true && <span className="schema-required">required</span>}
    </>
  );
  return (
    <li>
      {hasInside(whole, resolve) ? <Fold head={head} schema={whole} resolve={resolve} /> : <p>{head}</p>}
      {description !== undefined && (
        <p className="small muted wrap">
          <Inline text={description} />
        </p>
      )}
    </li>
  );
}

function Fold({
  head,
  schema,
  resolve,
}: {
  readonly head: ReactNode;
  readonly schema: Schema;
  readonly resolve: Resolve;
}): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{head}</summary>
      {open && <Inside schema={soleOf(schema, resolve)} resolve={resolve} />}
    </details>
  );
}

/** Type, format and limits in one line. */
export function Shape({ schema, resolve }: { readonly schema: Schema; readonly resolve: Resolve }): JSX.Element {
  const whole = resolve<Schema>(schema);
  const limits = limitsOf(whole);
  return (
    <span className="small muted wrap">
      {typeName(schema, resolve)}
      {limits.length > 0 && ` (${limits.join(", ")})`}
      {whole.enum && (
        <>
          :{" "}
          {whole.enum.map((each, index) => (
            <span key={index}>
              {index > 0 && " "}
              <code>{JSON.stringify(each)}</code>
            </span>
          ))}
        </>
      )}
      {whole.const !== undefined && (
        <>
          {" "}
          <code>{JSON.stringify(whole.const)}</code>
        </>
      )}
      {whole.default !== undefined && (
        <>
          , default <code>{JSON.stringify(whole.default)}</code>
        </>
      )}
    </span>
  );
}

function typeName(given: Schema, resolve: Resolve): string {
  const name = given.$ref?.split("/").at(-1);
  const schema = resolve<Schema>(given);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (name !== undefined && schema.properties) return name;
  if (alternatives) return [...new Set(alternatives.map((each) => typeName(each, resolve)))].join(" or ");
  if (schema.items) return `list of ${typeName(schema.items, resolve)}`;
  const type = typeof schema.type === "object" ? schema.type.join(" or ") : schema.type;
  if (type === "null") return "null";
  const base = type ?? (schema.enum || schema.const !== undefined ? "value" : (name ?? "any value"));
  return schema.format === undefined ? base : `${base}, ${schema.format}`;
}

const charactersOf = (count: number): string => `${count} ${count === 1 ? "character" : "characters"}`;
const itemsOf = (count: number): string => `${count} ${count === 1 ? "item" : "items"}`;
function limitsOf(schema: Schema): string[] {
  const limits: string[] = [];
  const add = (text: string, value: number | string | undefined): void => {
    if (value !== undefined) limits.push(`${text} ${value}`);
  };
  add("at least", schema.minimum);
  add("more than", schema.exclusiveMinimum);
  add("at most", schema.maximum);
  if (schema.minLength !== undefined) limits.push(`at least ${charactersOf(schema.minLength)}`);
  if (schema.maxLength !== undefined) limits.push(`at most ${charactersOf(schema.maxLength)}`);
  if (schema.minItems !== undefined) limits.push(`at least ${itemsOf(schema.minItems)}`);
  if (schema.maxItems !== undefined) limits.push(`at most ${itemsOf(schema.maxItems)}`);
  add("encoded as", schema.contentEncoding);
  return limits;
}

/** Alternatives that have content of their own; null and plain types are already named in the line. */
function alternativesOf(schema: Schema, resolve: Resolve): Schema[] {
  return (schema.allOf ?? schema.anyOf ?? schema.oneOf ?? []).filter((each) =>
    hasInside(resolve<Schema>(each), resolve),
  );
}

/** `X or null` and a list of X show the fields of X directly. */
function soleOf(schema: Schema, resolve: Resolve): Schema {
  if (schema.properties) return schema;
  const [sole, ...more] = schema.items ? [schema.items] : alternativesOf(schema, resolve);
  if (sole === undefined || more.length > 0) return schema;
  const inner = resolve<Schema>(sole);
  return hasInside(inner, resolve) ? soleOf(inner, resolve) : schema;
}

function hasInside(schema: Schema, resolve: Resolve, depth = 0): boolean {
  const { properties, items, additionalProperties } = schema;
  if (properties && Object.keys(properties).length > 0) return true;
  if (depth > 8) return false;
  const inner = [...(items ? [items] : []), ...(schema.allOf ?? schema.anyOf ?? schema.oneOf ?? [])];
  if (typeof additionalProperties === "object" && Object.keys(additionalProperties).length > 0) return true;
  return inner.some((each) => hasInside(resolve<Schema>(each), resolve, depth + 1));
}
