import { useState, type JSX, type ReactNode } from "react";
import { setAt } from "./data.ts";
import { useForm, useMessages, type Change, type ControlProps, type PartProps } from "./form-context.ts";
import { Errors, GroupHint, labelOf, Warnings } from "./frame.tsx";
import { Entries } from "./record.tsx";
import { controlOf, isObject, membersOf, pathKey, readSchema, type FormErrors } from "./schema.ts";

/** Most optional fields that are shown although they are empty. */
const MAX_EMPTY = 12;
const PAGE = 50;

/** An object with known fields. */
export function Members(props: ControlProps): JSX.Element {
  const { schema, value, change, path, required, depth } = props;
  const { root, errors: all, more, asked } = useForm();
  const { errors, warnings } = useMessages(path);
  const data = isObject(value) ? value : {};
  const members = membersOf(schema);
  const names = members.map(([name]) => name);
  const changeMember: Change = (at, next) => {
    const isRemoval = next === undefined && at.length === path.length + 1;
    // An optional object without any value is omitted, because its own required fields would be reported as missing.
    if (isRemoval && !required && Object.keys(data).every((name) => name === at.at(-1))) return change(path, undefined);
    if (!isObject(value)) return isRemoval ? undefined : change(path, setAt({}, at.slice(path.length), next));
    change(at, next);
  };
  const isNeeded = (name: string): boolean =>
    schema.required?.includes(name) === true || Object.hasOwn(data, name) || hasBelow(all, [...path, name]);
  const isAdvanced = ([, each]: (typeof members)[number]): boolean => readSchema(each, root)["x-advanced"] === true;
  const advanced = members.filter(isAdvanced);
  const plain = members.filter((each) => !isAdvanced(each));
  const isLong = plain.filter(([name]) => !isNeeded(name)).length > MAX_EMPTY;
  const shown = isLong ? plain.filter(([name]) => isNeeded(name)) : plain;
  const hidden = isLong ? plain.filter(([name]) => !isNeeded(name)) : [];
  const member = ([name, each]: readonly [string, unknown]): JSX.Element => (
    <Member key={name} of={props} name={name} schema={each} data={data} change={changeMember} />
  );
  const unknown =
    schema.additionalProperties === false ? Object.keys(data).filter((name) => !names.includes(name)) : [];
  const isAsked = (each: typeof members): boolean =>
    each.some(([name]) => hasBelow(all, [...path, name]) || asked?.[path.length] === name);
  const extra = depth === 0 ? more : undefined;
  const isElsewhere = (at: PartProps["path"]): boolean => at[0] !== path[0];
  const isExtraAsked =
    extra !== undefined &&
    ((asked !== undefined && isElsewhere(asked)) || [...all.keys()].some((key) => isElsewhere(pathOf(key))));
  const set = advanced.filter(([name]) => Object.hasOwn(data, name)).length;
  const content = (
    <>
      {shown.map(member)}
      {hidden.length > 0 && (
        <Folded label={`${hidden.length.toLocaleString()} more fields`} members={hidden} member={member} />
      )}
      {(advanced.length > 0 || extra !== undefined) && (
        <Folded
          label={set === 0 ? "Advanced" : `Advanced (${set} set)`}
          members={advanced}
          member={member}
          isAsked={isAsked(advanced) || isExtraAsked}
        >
          {extra}
        </Folded>
      )}
      {typeof schema.additionalProperties === "object" && <Entries props={props} taken={names} />}
      {unknown.map((name) => (
        <div key={name} className="row">
          <span className="field-error wrap">
            <code>{name}</code> is not a field of this object.
          </span>
          <button type="button" className="button button-small" onClick={() => change([...path, name], undefined)}>
            Remove {name}
          </button>
        </div>
      ))}
      <Warnings warnings={warnings} />
      <Errors errors={errors} />
    </>
  );
  const description = <GroupHint text={schema.description} />;
  if (depth === 0)
    return (
      <div className="stack">
        {description}
        {content}
      </div>
    );
  const isShown = required || value !== undefined || hasBelow(all, path) || schema.default !== undefined;
  // An optional object opens when it is asked for: a schema that contains itself has no end.
  return isShown || isAskedWithin(asked, path) ? (
    <fieldset className="form-group">
      <legend>{labelOf(props)}</legend>
      {description}
      {content}
    </fieldset>
  ) : (
    <Folded label={labelOf(props)} members={members} member={member}>
      {description}
    </Folded>
  );
}

const isAskedWithin = (asked: PartProps["path"] | undefined, path: PartProps["path"]): boolean =>
  asked !== undefined && asked.length > path.length && path.every((step, at) => step === asked[at]);

/** Whether there are messages about a place or about anything in it. */
const hasBelow = (messages: FormErrors, path: PartProps["path"]): boolean =>
  [...messages.keys()].some(
    (key) => key.startsWith(pathKey(path).slice(0, -1)) && /^[,\]]/.test(key.slice(pathKey(path).length - 1)),
  );

const pathOf = (key: string): PartProps["path"] => JSON.parse(key) as PartProps["path"];

function Member({
  of: { schema: parent, path, depth, language },
  name,
  schema,
  data,
  change,
}: {
  readonly of: ControlProps;
  readonly name: string;
  readonly schema: unknown;
  readonly data: Readonly<Record<string, unknown>>;
  readonly change: Change;
}): JSX.Element | null {
  const { root, Part } = useForm();
  const read = readSchema(schema, root);
  if (controlOf(read, root) === "none") return null;
  return (
    <Part
      schema={schema}
      value={Object.hasOwn(data, name) ? data[name] : undefined}
      change={change}
      label={read.title ?? name}
      path={[...path, name]}
      required={parent.required?.includes(name) ?? false}
      depth={depth + 1}
      language={parent["x-language"] ?? language}
    />
  );
}

/** Fields that are rendered when they are opened, some at a time. */
function Folded({
  label,
  members,
  member,
  isAsked = false,
  children,
}: {
  readonly label: string;
  readonly members: ReadonlyArray<readonly [string, unknown]>;
  readonly member: (each: readonly [string, unknown]) => JSX.Element;
  /** Whether something in it has to be seen. */
  readonly isAsked?: boolean;
  readonly children?: ReactNode;
}): JSX.Element {
  const [chosen, setOpen] = useState<boolean | null>(null);
  const isOpen = chosen ?? isAsked;
  const [pages, setPages] = useState(1);
  return (
    <details className="form-folded" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label}</summary>
      {isOpen && (
        <div className="stack">
          {members.slice(0, pages * PAGE).map(member)}
          {members.length > pages * PAGE && (
            <button type="button" className="button button-small" onClick={() => setPages(pages + 1)}>
              Show more
            </button>
          )}
          {children}
        </div>
      )}
    </details>
  );
}
