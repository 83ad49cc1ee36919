/** Characters that do not show, or that change the direction of text: code must not look different from what it does. */
const UNSEEN = /[\u007f-\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** A JSON text in which every character that does not show is escaped. */
export const plainJson = (value: unknown, space = 0): string =>
  JSON.stringify(value, null, space).replaceAll(
    UNSEEN,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** A string literal. The escapes of JSON mean the same in JavaScript and in Python. */
export const textLiteral = (text: string): string => plainJson(text);

/** A value as JavaScript; `indent` is that of the line it starts in. */
export function scriptLiteral(value: unknown, indent = ""): string {
  // A plain "__proto__" would set the prototype.
  const name = (key: string): string => (key === "__proto__" ? '["__proto__"]' : textLiteral(key));
  return collection(value, indent, "  ", name, scriptLiteral) ?? plainJson(value);
}

/** A value as Python; `indent` is that of the line it starts in. */
export function pythonLiteral(value: unknown, indent = ""): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return collection(value, indent, "    ", textLiteral, pythonLiteral) ?? plainJson(value);
}

function collection(
  value: unknown,
  indent: string,
  step: string,
  name: (key: string) => string,
  literal: (value: unknown, indent: string) => string,
): string | null {
  if (typeof value !== "object" || value === null) return null;
  const inner = indent + step;
  const members = Array.isArray(value)
    ? value.map((each) => literal(each, inner))
    : Object.entries(value).map(([key, each]) => `${name(key)}: ${literal(each, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (members.length === 0) return open + close;
  return `${open}\n${members.map((member) => `${inner}${member},\n`).join("")}${indent}${close}`;
}

/** Quotes a text as one word of a POSIX shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The part of a form that uploads a file: within the quotes curl takes two signs as its own. */
export const curlFile = (name: string): string => `@"${name.replaceAll(/[\\"]/g, String.raw`\$&`)}"`;
