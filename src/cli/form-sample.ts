type Schema = Readonly<Record<string, unknown>>;

/** A sample value for a form: its required fields, using defaults, examples and bounds. */
export function formSample(form: unknown): unknown {
  if (typeof form !== "object" || form === null) return "...";
  const schema = form as Schema;
  const [example] = Array.isArray(schema["examples"]) ? (schema["examples"] as unknown[]) : [];
  const [choice] = Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : [];
  const given = schema["const"] ?? schema["default"] ?? example ?? choice;
  if (given !== undefined) return given;
  const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  const properties = (schema["properties"] ?? {}) as Schema;
  switch (type ?? (schema["properties"] === undefined ? undefined : "object")) {
    case "object": {
      const required = Array.isArray(schema["required"]) ? (schema["required"] as string[]) : [];
      return Object.fromEntries(required.map((name) => [name, formSample(properties[name] ?? {})]));
    }
    case "array":
      return Array.from({ length: Number(schema["minItems"] ?? 0) }, () => formSample(schema["items"]));
    case "integer":
    case "number":
      return Number(schema["minimum"] ?? 0);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return textSample(schema);
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00Z",
  email: "ada@example.com",
  uri: "https://example.com",
  uuid: "00000000-0000-7000-8000-000000000000",
};

function textSample(schema: Schema): string {
  const text = FORMATS[String(schema["format"])] ?? "...";
  const long = text.padEnd(Number(schema["minLength"] ?? 0), ".");
  return long.slice(0, Number(schema["maxLength"] ?? long.length));
}
