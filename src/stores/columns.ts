import { jsonb } from "./jsonb.ts";

/** The columns of a list, each as `name type`. */
type Each<List extends string> = List extends `${infer One},${infer Others}`
  ? Each<One> | Each<Others>
  : List extends `${" " | "\n"}${infer Rest}`
    ? Each<Rest>
    : List;
type NameIn<Column> = Column extends `${infer Name} ${string}` ? Name : never;
type ValueIn<Column> = Column extends `${string} ${infer Type}` ? ValueOf<Type> : never;
type ValueOf<Type extends string> = Type extends `${infer Some} null`
  ? ValueOf<Some> | null
  : Type extends `${infer Item}[]`
    ? ReadonlyArray<ValueOf<Item>>
    : Type extends keyof Values
      ? Values[Type]
      : unknown;

/** What the driver makes of values; JSON is unknown. */
interface Values {
  uuid: string;
  text: string;
  timestamptz: string;
  boolean: boolean;
  int: number;
  bigint: number;
  float8: number;
  bytea: Buffer;
}

type Given<List extends string> = { readonly [Column in Each<List> as NameIn<Column>]: unknown };

/** Columns of a table. The comments show the SQL of `id uuid, name text null`. */
export interface Columns<List extends string> {
  readonly list: List;
  readonly names: ReadonlyArray<NameIn<Each<List>>>;
  /** `id, name`; of a table with an alias: `t.id, t.name`. */
  select(alias?: string): string;
  /** `id uuid, name text`: of a recordset in JSON. */
  readonly recordset: string;
  /** `(id, name) values ($1::uuid, $2::text)`: of an insert. */
  readonly into: string;
  /** `$1::uuid, $2::text`: of an insert that also writes other columns. */
  readonly parameters: string;
  /** `unnest($3::uuid[], $4::text[]) as n (id, name)`: many rows, with parameters from number `first` on. */
  unnest(first: number): string;
  /** `unnest($1::uuid[], $2::text[]) with ordinality as n (id, name, ord)`: many rows and their places, from 1 on. */
  readonly numbered: string;
  /** `id = $3::uuid, name = $4::text`: of an update, with parameters from number `first` on. */
  set(first: number): string;
  /** `id = case when $3::boolean then $4::uuid else id end, …`: of an update of the columns that `given` gets. */
  patch(first: number): string;
  /** The parameters of one row. A JSON column takes any value; null and undefined become SQL's null. */
  values(row: Given<List>): unknown[];
  /** The parameters of `patch`: for each column whether it is in the row, and its value. Undefined ones are not. */
  given(row: Partial<Given<List>>): unknown[];
  /** The parameters of many rows: an array for each column. */
  arrays(rows: ReadonlyArray<Given<List>>): unknown[][];
}

export type NameOf<Of extends { readonly names: readonly string[] }> = Of["names"][number];

/** A row as it is read. Types of JSON, and of texts with few values, are declared where the row's type extends this one. */
export type RowOf<Of extends { readonly list: string }> = {
  readonly [Column in Each<Of["list"]> as NameIn<Column>]: ValueIn<Column>;
};

/** A change of some columns: undefined ones keep their values. */
export type Changes<Row> = { readonly [Column in keyof Row]?: Row[Column] | undefined };

const ENCODED: Readonly<Record<string, (value: unknown) => string>> = { jsonb, json: JSON.stringify };

function encoded(value: unknown, type: string): unknown {
  return value == null ? null : (ENCODED[type]?.(value) ?? value);
}

/** Columns from a list of their names and Postgres types; `null` after a type says that a column may be null. */
export function columns<const List extends string>(list: List): Columns<List> {
  const typed = list.split(",").map((each) => {
    const [, name = "", type = ""] = /^\s*(\w+) (.+?)(?: null)?$/.exec(each) ?? [];
    return { name: name as NameIn<Each<List>>, type };
  });
  const names = typed.map(({ name }) => name);
  const parameters = (first: number, array = ""): string[] =>
    typed.map(({ type }, at) => `$${first + at}::${type}${array}`);
  const values = (row: Given<List>): unknown[] => typed.map(({ name, type }) => encoded(row[name], type));
  return {
    list,
    names,
    select: (alias) => names.map((name) => (alias === undefined ? name : `${alias}.${name}`)).join(", "),
    recordset: typed.map(({ name, type }) => `${name} ${type}`).join(", "),
    into: `(${names.join(", ")}) values (${parameters(1).join(", ")})`,
    parameters: parameters(1).join(", "),
    unnest: (first) => `unnest(${parameters(first, "[]").join(", ")}) as n (${names.join(", ")})`,
    numbered: `unnest(${parameters(1, "[]").join(", ")}) with ordinality as n (${names.join(", ")}, ord)`,
    set: (first) =>
      parameters(first)
        .map((parameter, at) => `${names[at]} = ${parameter}`)
        .join(", "),
    patch: (first) =>
      typed
        .map(
          ({ name, type }, at) =>
            `${name} = case when $${first + 2 * at}::boolean then $${first + 2 * at + 1}::${type} else ${name} end`,
        )
        .join(", "),
    values,
    given: (row) => typed.flatMap(({ name, type }) => [row[name] !== undefined, encoded(row[name], type)]),
    arrays(rows) {
      const all = rows.map(values);
      return names.map((_, at) => all.map((row) => row[at]));
    },
  };
}
