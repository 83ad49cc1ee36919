import { createElement, type JSX } from "react";
import { Check, Checks, Choice, Constant, Json, NumberInput, Text } from "./controls.tsx";
import { FormContext, useForm, type Change, type ControlProps, type Form, type PartProps } from "./form-context.ts";
import { Free, Templated } from "./free.tsx";
import { List } from "./list.tsx";
import { Members } from "./members.tsx";
import { Entry } from "./record.tsx";
import { controlOf, pathKey, readSchema, type Control as Kind, type FormErrors } from "./schema.ts";
import { Union } from "./union.tsx";
import "./schema-form.css";

const MAX_DEPTH = 8;
const NO_MESSAGES: FormErrors = new Map();

/**
 * A form generated from a JSON Schema. Each change names the path that it changes; empty fields are omitted from the
 * data; each message is shown at its field.
 */
export function SchemaForm({
  schema,
  value,
  onChange,
  errors,
  warnings = NO_MESSAGES,
  fillsDefaults = true,
  path = [],
  label,
  ...tools
}: {
  readonly schema: unknown;
  readonly value: unknown;
  readonly onChange: Change;
  readonly errors: FormErrors;
  readonly warnings?: FormErrors;
  /** Where the data is; paths of changes and messages begin with it. */
  readonly path?: PartProps["path"];
  readonly label?: string;
} & Partial<
  Pick<Form, "fillsDefaults" | "Code" | "JsonText" | "Reference" | "special" | "allowsTemplates" | "more" | "asked">
>): JSX.Element {
  const { title } = readSchema(schema, schema);
  return (
    <FormContext value={{ root: schema, errors, warnings, fillsDefaults, Part, ...tools }}>
      <Part
        schema={schema}
        value={value}
        change={onChange}
        label={label ?? title ?? "Data"}
        path={path}
        required
        depth={0}
      />
    </FormContext>
  );
}

/** One part of the form, which can be found by its path. */
function Part({ schema: given, ...props }: PartProps): JSX.Element | null {
  const { root, special, allowsTemplates } = useForm();
  const read = readSchema(given, root);
  const { language, path } = props;
  const schema =
    language === undefined || read["x-language"] !== undefined ? read : { ...read, "x-language": language };
  const all: ControlProps = { ...props, schema };
  const kind = controlOf(schema, root);
  if (kind === "none") return null;
  const instead = special?.(path) ?? null;
  const isTemplate = allowsTemplates === true && schema["x-language"] === "liquid" && TEMPLATED.includes(kind);
  const control = instead === null ? <Control {...all} kind={kind} /> : createElement(instead, all);
  return (
    <div className="form-part" data-path={pathKey(path)}>
      {isTemplate && props.depth > 0 ? <Templated {...all} control={control} /> : control}
    </div>
  );
}

/** Controls whose value can be a template instead. */
const TEMPLATED: readonly Kind[] = ["choice", "check", "number", "checks", "list", "members"];

function Control({ kind, ...props }: ControlProps & { readonly kind: Kind }): JSX.Element {
  const { root, Code, Reference, allowsTemplates } = useForm();
  const { schema, depth } = props;
  if (depth > MAX_DEPTH) return <Json {...props} />;
  switch (kind) {
    case "choice":
      return <Choice {...props} />;
    case "constant":
      return <Constant {...props} />;
    case "union":
      return isFree(schema) ? <Free {...props} fields={<Union {...props} />} /> : <Union {...props} />;
    case "members":
      return <Members {...props} />;
    case "record":
      return schema.additionalProperties === undefined || isFree(schema) ? (
        <Free {...props} fields={<Entry {...props} />} />
      ) : (
        <Entry {...props} />
      );
    case "checks": {
      const options = readSchema(schema.items, root).enum as readonly string[];
      return <Checks {...props} options={options} />;
    }
    case "list":
      return <List {...props} />;
    case "code":
      return Code ? <Code {...props} /> : <Text {...props} />;
    case "reference":
      return Reference ? <Reference {...props} /> : <Text {...props} />;
    case "text":
      return <Text {...props} />;
    case "number":
      return <NumberInput {...props} />;
    case "check":
      return <Check {...props} />;
    case "none":
    case "json":
      return allowsTemplates === true ? (
        <Free {...props} fields={<Union {...props} schema={{ ...schema, ...ANYTHING }} />} />
      ) : (
        <Json {...props} />
      );
  }
}

/** Alternatives for a value of any type. */
const ANYTHING = {
  anyOf: ["string", "number", "boolean", "object", "array", "null"].map((type) => ({
    type,
    ...(type === "array" && { items: {} }),
  })),
};

/** Whether a schema allows values of any depth, as it refers to itself or to anything. */
function isFree({ anyOf = [], additionalProperties: others }: ControlProps["schema"]): boolean {
  const refersBack = (each: unknown): boolean =>
    each === true || (typeof each === "object" && each !== null && ("$ref" in each || Object.keys(each).length === 0));
  return (
    refersBack(others) ||
    anyOf.some((way) => refersBack((way as { readonly additionalProperties?: unknown } | null)?.additionalProperties))
  );
}
