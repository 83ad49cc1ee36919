import type { Json, JsonObject } from "../../json.ts";
import { environmentQuery, inferencePath, type FlowAddress } from "./io-formats.ts";
import type { FlowIo } from "./io-schema.ts";

/** Ready-to-paste code that calls a flow; it needs only the language itself and MILLRACE_API_KEY. */
export interface FlowSnippets {
  readonly curl: string;
  readonly python: string;
  readonly javascript: string;
}

/** The user ID in the snippets of flows that read uploaded documents. */
const HANDLE = "ada-1";

/** Writes the snippets of a flow with the inputs of its first example, or with made-up inputs. */
export function flowSnippets(io: FlowIo, { base_url, org_id, environment }: FlowAddress): FlowSnippets {
  const properties = Object.entries(io.inputs["properties"] as Readonly<Record<string, JsonObject>>);
  const upload = properties.find(([, schema]) => schema["x-upload"] === true)?.[0];
  const inputs: Record<string, Json> = { ...(io.examples[0]?.inputs ?? sampleInputs(io, properties)) };
  if (upload !== undefined && inputs["user_id"] === undefined) inputs["user_id"] = HANDLE;
  const handle = typeof inputs["user_id"] === "string" ? inputs["user_id"] : HANDLE;
  const query =
    upload === undefined
      ? undefined
      : new URLSearchParams({ org: org_id, user_id: handle, flow_id: io.project_id, node_id: upload });
  const call: Call = {
    url: `${base_url}${inferencePath(org_id, io.project_id)}${environmentQuery({ environment })}`,
    uploadUrl: query && `${base_url}/upload_to_storage_user?${query.toString()}`,
    inputs,
  };
  return { curl: curl(call), python: python(call), javascript: javascript(call) };
}

interface Call {
  readonly url: string;
  readonly uploadUrl: string | undefined;
  readonly inputs: JsonObject;
}

function sampleInputs(io: FlowIo, properties: ReadonlyArray<readonly [string, JsonObject]>): JsonObject {
  const required = io.inputs["required"] as readonly string[];
  return Object.fromEntries(
    properties
      .filter(([id, schema]) => required.includes(id) || schema["default"] !== undefined)
      .map(([id, schema]) => [
        id,
        schema["default"] ?? firstExample(schema) ?? (schema["format"] === "uri" ? "https://example.com/" : "Hello"),
      ]),
  );
}

function firstExample({ examples }: { readonly examples?: Json }): Json | undefined {
  return Array.isArray(examples) ? (examples as readonly Json[])[0] : undefined;
}

function curl({ url, uploadUrl, inputs }: Call): string {
  const upload =
    uploadUrl &&
    `curl --fail-with-body --request POST ${shell(uploadUrl)} \\
  --header "Authorization: Bearer $MILLRACE_API_KEY" \\
  --form 'file=@report.pdf'

`;
  return `${upload ?? ""}curl --fail-with-body --request POST ${shell(url)} \\
  --header "Authorization: Bearer $MILLRACE_API_KEY" \\
  --header 'Content-Type: application/json' \\
  --data-raw ${shell(JSON.stringify(inputs, null, 2))}
`;
}

function python({ url, uploadUrl, inputs }: Call): string {
  const upload =
    uploadUrl &&
    `boundary = uuid.uuid4().hex
with open("report.pdf", "rb") as file:
    part = b"\\r\\n".join([
        f"--{boundary}".encode(),
        b'Content-Disposition: form-data; name="file"; filename="report.pdf"',
        b"Content-Type: application/pdf",
        b"",
        file.read(),
        f"--{boundary}--".encode(),
        b"",
    ])
uploaded = call(${pythonText(uploadUrl)}, part, f"multipart/form-data; boundary={boundary}")
print(uploaded["filename"], uploaded["status"])

`;
  return `import json
import os
${upload === undefined ? "import urllib.request" : "import urllib.request\nimport uuid"}


def call(url, body, content_type):
    headers = {"Authorization": "Bearer " + os.environ["MILLRACE_API_KEY"], "Content-Type": content_type}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as response:
        return json.load(response)


${upload ?? ""}inputs = ${pythonLiteral(inputs, "")}
result = call(${pythonText(url)}, json.dumps(inputs).encode(), "application/json")
print(result["state"], result["outputs"])
`;
}

function javascript({ url, uploadUrl, inputs }: Call): string {
  const upload =
    uploadUrl &&
    `const form = new FormData();
form.append("file", await openAsBlob("report.pdf", { type: "application/pdf" }), "report.pdf");
const uploaded = await fetch(${scriptText(uploadUrl)}, { method: "POST", headers: { Authorization: authorization }, body: form });
if (!uploaded.ok) throw new Error(await uploaded.text());

`;
  return `${upload === undefined ? "" : 'import { openAsBlob } from "node:fs";\n\n'}const authorization = \`Bearer \${process.env.MILLRACE_API_KEY}\`;

${upload ?? ""}const response = await fetch(${scriptText(url)}, {
  method: "POST",
  headers: { Authorization: authorization, "Content-Type": "application/json" },
  body: JSON.stringify(${scriptLiteral(inputs, "  ")}),
});
if (!response.ok) throw new Error(await response.text());
const { state, outputs } = await response.json();
console.log(state, outputs);
`;
}

/** A quoted word for a POSIX shell: within single quotes only the quote itself is special. */
function shell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A string of Python. Its escapes are a superset of JSON's. */
function pythonText(text: string): string {
  return JSON.stringify(text);
}

/** A JavaScript string literal, with all line terminators escaped, also the ones that only older tools treat as such. */
function scriptText(text: string): string {
  return JSON.stringify(text)
    .replaceAll("\u2028", String.raw`\u2028`)
    .replaceAll("\u2029", String.raw`\u2029`);
}

function pythonLiteral(value: Json, indent: string): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return pythonText(value);
  return typeof value === "number"
    ? JSON.stringify(value)
    : collection(value, indent, pythonLiteral, pythonText, "    ");
}

function scriptLiteral(value: Json, indent: string): string {
  if (typeof value === "string") return scriptText(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  // A plain "__proto__" key would set the prototype.
  const key = (name: string) => (name === "__proto__" ? '["__proto__"]' : scriptText(name));
  return collection(value, indent, scriptLiteral, key, "  ");
}

function collection(
  value: readonly Json[] | { readonly [key: string]: Json },
  indent: string,
  literal: (value: Json, indent: string) => string,
  key: (name: string) => string,
  step: string,
): string {
  const inner = indent + step;
  const list = Array.isArray(value);
  const members = list
    ? (value as readonly Json[]).map((item) => literal(item, inner))
    : Object.entries(value).map(([name, item]) => `${key(name)}: ${literal(item, inner)}`);
  const [open, close] = list ? ["[", "]"] : ["{", "}"];
  return members.length === 0
    ? `${open}${close}`
    : `${open}\n${members.map((line) => `${inner}${line},\n`).join("")}${indent}${close}`;
}
