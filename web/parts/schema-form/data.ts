import { allowsNull, isObject, readSchema, typesOf, type FormSchema } from "./schema.ts";

type Path = ReadonlyArray<string | number>;
const MAX_DEPTH = 8;

/** The data with another value at a path; undefined removes a field. Missing objects and lists on the way are made. */
export function setAt(data: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof key === "number") {
    const list = Array.isArray(data) ? (data as unknown[]) : [];
    const next = setAt(list[key], rest, value) ?? null;
    return key < list.length ? list.with(key, next) : [...list, next];
  }
  const object = isObject(data) ? data : {};
  const next = setAt(Object.hasOwn(object, key) ? object[key] : undefined, rest, value);
  if (next === undefined) return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
  return { ...object, [key]: next };
}

/** Initial data of a form: the defaults and constants of its schema. */
export function initialData(given: unknown, root: unknown = given, isOptional = false, depth = 0): unknown {
  const schema = readSchema(given, root);
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.properties === undefined || depth > MAX_DEPTH) return undefined;
  const members = Object.entries(schema.properties).flatMap(([name, member]) => {
    const value = initialData(member, root, schema.required?.includes(name) !== true, depth + 1);
    return value === undefined ? [] : [[name, value] as const];
  });
  return isOptional && members.length === 0 ? undefined : Object.fromEntries(members);
}

/** The value with which an entry or an alternative starts: its required constants, without defaults. */
export function startOf(given: unknown, root: unknown, depth = 0): unknown {
  const schema = readSchema(given, root);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const [type] = typesOf(schema);
  switch (type) {
    case "object": {
      const members = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
        const isNeeded = depth < MAX_DEPTH && schema.required?.includes(name) === true;
        const { const: constant } = isNeeded ? readSchema(member, root) : {};
        return constant === undefined ? [] : [[name, constant] as const];
      });
      return Object.fromEntries(members);
    }
    case "array":
      return [];
    case "boolean":
      return false;
    case "string":
      return "";
    case "number":
    case "integer":
      return schema.minimum ?? 0;
    default:
      return allowsNull(schema) ? null : "";
  }
}

/** The data as it is sent. An unticked required box is sent as false. */
export function completed(given: unknown, value: unknown, root: unknown = given, depth = 0): unknown {
  const schema = readSchema(given, root);
  if (isCheck(schema)) return value ?? false;
  if (depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => completed(schema.items, item, root, depth + 1));
  if (schema.properties === undefined || !isObject(value)) return value;
  const members = Object.entries(schema.properties).flatMap(([name, member]) => {
    const isThere = Object.hasOwn(value, name);
    const isSent = isThere || (schema.required?.includes(name) === true && isCheck(readSchema(member, root)));
    return isSent ? [[name, completed(member, isThere ? value[name] : undefined, root, depth + 1)] as const] : [];
  });
  return { ...value, ...Object.fromEntries(members) };
}

const isCheck = (schema: FormSchema): boolean => typesOf(schema)[0] === "boolean" && schema.enum === undefined;
