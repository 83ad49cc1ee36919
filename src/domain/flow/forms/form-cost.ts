/** Subschemas a form may have once every reference is written out. */
const MAX_EXPANDED = 5000;

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** Members of a schema that would load, defer or loop. */
const REFUSED = ["$async", "$dynamicRef", "$recursiveRef"];

type Members = Readonly<Record<string, unknown>>;

/**
 * What speaks against checking data with a schema, before any compiler sees it. References are what makes checking
 * costly: two to the same place at each of thirty levels are a thousand million checks, and one in a circle may never
 * end. So they must point into the schema, not in circles, and to no more than MAX_EXPANDED subschemas in all.
 */
export function faultOfForm(schema: object): string | undefined {
  const sizes = new Map<string, number | "open">();
  let fault: string | undefined;

  /** Counts objects below a value with references written out; a fault ends it. */
  function expanded(value: unknown): number {
    if (fault !== undefined || typeof value !== "object" || value === null) return 0;
    let size = 1;
    for (const [key, member] of Object.entries(value)) {
      if (!Array.isArray(value) && REFUSED.includes(key) && typeof member !== "object")
        fault ??= `A form cannot use ${key}`;
      // References below it would be read from there, and lead elsewhere than is counted here.
      if (key === "$id" && typeof member === "string" && value !== schema)
        fault ??= "Only the form as a whole can have an $id";
      // A property may be called "$ref": its value then is a schema, not a text.
      const reference = key === "$ref" && typeof member === "string" && !Array.isArray(value);
      size += reference ? target(member) : expanded(member);
    }
    if (size > MAX_EXPANDED) fault ??= `A form may have ${MAX_EXPANDED} parts, references written out`;
    return size;
  }

  function target(pointer: string): number {
    const known = sizes.get(pointer);
    if (known === "open") fault ??= `A form cannot contain itself: ${pointer}`;
    if (typeof known === "number") return known;
    const found = targetOf(schema, pointer);
    if (found === undefined)
      fault ??= `Nothing is found at the reference ${pointer.slice(0, 100)} (references look like #/$defs/name)`;
    if (fault !== undefined) return 0;
    sizes.set(pointer, "open");
    const size = expanded(found);
    sizes.set(pointer, size);
    return size;
  }

  const dialect = (schema as Members)["$schema"];
  if (dialect !== undefined && dialect !== DIALECT && dialect !== `${DIALECT}#`) {
    return "A form is JSON Schema 2020-12: leave out $schema";
  }
  expanded(schema);
  return fault;
}

/** The place a JSON pointer in a fragment names. */
export function targetOf(schema: object, pointer: string): unknown {
  if (pointer === "#") return schema;
  if (!pointer.startsWith("#/")) return undefined;
  let at: unknown = schema;
  for (const step of pointer.slice(2).split("/")) {
    const name = decode(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Members)[name];
  }
  return at;
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
