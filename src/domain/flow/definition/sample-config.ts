/** A JSON Schema that is still being completed. */
export type Schema = Record<string, unknown>;

/** The schemas in a configuration's schema, by the location (path as JSON text) of the sample that each describes. */
export type Places = ReadonlyMap<string, Schema>;

type Path = ReadonlyArray<string | number>;

/**
 * Makes a configuration with every field, one entry in each record, and one entry of each type in each list, so that what a spec reports
 * for the sample covers every location of the schema. Adds titles to fields that have none.
 */
export function createSampler(schema: Schema): {
  readonly sample: Readonly<Record<string, unknown>>;
  readonly places: Places;
} {
  const places = new Map<string, Schema>();
  let texts = 0;

  function valueOf(at: Schema, path: Path): unknown {
    places.set(JSON.stringify(path), at);
    if ("const" in at) return at["const"];
    if (Array.isArray(at["enum"])) return (at["enum"] as unknown[])[0];
    const ways = waysOf(at);
    if (ways.length > 0) {
      // The sample takes the first alternative; the others are visited only for their titles.
      for (const [index, way] of ways.slice(1).entries()) valueOf(way, [...path, "or", index]);
      return valueOf(ways[0] ?? {}, path);
    }
    switch (at["type"]) {
      case "object":
        return objectOf(at, path);
      case "array":
        return listOf((at["items"] ?? {}) as Schema, path);
      case "boolean":
        return true;
      case "integer":
      case "number":
        return 1;
      default:
        // A different text at each location, so that each can be recognised; as a UUID it is valid wherever an ID is expected.
        texts += 1;
        return `0197f0a0-0000-7000-8000-${String(texts).padStart(12, "0")}`;
    }
  }

  function objectOf(at: Schema, path: Path): Record<string, unknown> {
    const members = Object.entries((at["properties"] ?? {}) as Record<string, Schema>);
    const object = members.map(([name, member]): [string, unknown] => {
      // Titles come before descriptions, as in hand-written schemas.
      const { description, ...rest } = member;
      for (const key of Object.keys(member)) delete member[key];
      Object.assign(member, { title: titleOf(name), ...(description === undefined ? {} : { description }), ...rest });
      return [name, valueOf(member, [...path, name])];
    });
    const others = at["additionalProperties"];
    if (typeof others === "object" && others !== null) {
      object.push(["x", valueOf(others as Schema, [...path, "x"])]);
    }
    return Object.fromEntries(object);
  }

  function listOf(items: Schema, path: Path): unknown[] {
    const ways = waysOf(items);
    for (const way of ways) nameWay(way);
    return (ways.length === 0 ? [items] : ways).map((way, index) => valueOf(way, [...path, index]));
  }

  const sample = valueOf(schema, []) as Readonly<Record<string, unknown>>;
  return { sample, places };
}

function waysOf(schema: Schema): Schema[] {
  return (schema["oneOf"] ?? schema["anyOf"] ?? []) as Schema[];
}

/** Gives an alternative its `type` value as its title. */
function nameWay(way: Schema): void {
  const kind = (way["properties"] as Record<string, Schema> | undefined)?.["type"]?.["const"];
  if (typeof kind === "string" && way["title"] === undefined) way["title"] = titleOf(kind);
}

const IN_CAPITALS: ReadonlySet<string> = new Set(["url", "mcp", "id"]);

/** The label of a field: `knowledge_base_id` becomes "Knowledge base". */
function titleOf(name: string): string {
  const words = name
    .replace(/(?<=.)_id$/, "")
    .split("_")
    .map((word) => (IN_CAPITALS.has(word) ? word.toUpperCase() : word));
  const text = words.join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
