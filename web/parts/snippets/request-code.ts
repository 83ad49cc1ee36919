import type { Language } from "../../../src/domain/flow/io/call-code.ts";
import { curlFile, pythonLiteral, quoted, scriptLiteral, textLiteral } from "../../../src/domain/flow/io/literals.ts";
import { typedJson } from "../typed-json.ts";

/** A request to be shown as code. */
export interface CodeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: CodeBody | null;
}
type CodeBody =
  | { readonly kind: "text"; readonly type: string; readonly text: string }
  | { readonly kind: "form"; readonly type: string; readonly fields: ReadonlyArray<readonly [string, string | File]> }
  | { readonly kind: "file"; readonly type: string; readonly file: File };

/** Code that sends a request, in the given language. It reads the credential from the environment and never contains it. */
export function requestCode(language: Language, request: CodeRequest, withKey: boolean): string {
  switch (language) {
    case "curl":
      return curlCode(request, withKey);
    case "JavaScript":
      return scriptCode(request, withKey);
    case "Python":
      return pythonCode(request, withKey);
  }
}

const nameOf = (value: string | File): string => (typeof value === "string" ? value : value.name);

function curlCode({ method, url, headers, body }: CodeRequest, withKey: boolean): string {
  const parts = [`curl${method === "GET" ? "" : ` -X ${method}`} ${quoted(url)}`];
  if (withKey) parts.push('-H "Authorization: Bearer $API_KEY"');
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body?.kind === "text")
    parts.push(`-H ${quoted(`Content-Type: ${body.type}`)}`, `--data-raw ${quoted(body.text)}`);
  if (body?.kind === "file")
    parts.push(`-H ${quoted(`Content-Type: ${body.type}`)}`, `--data-binary ${quoted(`@${body.file.name}`)}`);
  if (body?.kind === "form") {
    const flag = body.type === "multipart/form-data" ? "--form-string" : "--data-urlencode";
    for (const [name, value] of body.fields)
      parts.push(
        typeof value === "string"
          ? `${flag} ${quoted(`${name}=${value}`)}`
          : `-F ${quoted(`${name}=${curlFile(value.name)}`)}`,
      );
  }
  return parts.join(" \\\n  ");
}

function scriptCode({ method, url, headers, body }: CodeRequest, withKey: boolean): string {
  const before: string[] = [];
  const lines = [`  method: ${textLiteral(method)},`];
  const all = [
    ...(withKey ? ["    Authorization: `Bearer ${process.env.API_KEY}`,"] : []),
    ...Object.entries(headers).map(([name, value]) => `    ${textLiteral(name)}: ${textLiteral(value)},`),
    ...(body && body.kind !== "form" ? [`    "Content-Type": ${textLiteral(body.type)},`] : []),
  ];
  if (all.length > 0) lines.push("  headers: {", ...all, "  },");
  if (body?.kind === "text")
    lines.push(`  body: ${jsonOr(body, (value) => `JSON.stringify(${scriptLiteral(value, "  ")})`)},`);
  if (body?.kind === "file") {
    before.push('import { openAsBlob } from "node:fs";', "");
    lines.push(`  body: await openAsBlob(${textLiteral(body.file.name)}),`);
  }
  if (body?.kind === "form") {
    if (body.fields.some(([, value]) => typeof value !== "string"))
      before.push('import { openAsBlob } from "node:fs";', "");
    before.push(`const form = new ${isMultipart(body) ? "FormData" : "URLSearchParams"}();`);
    for (const [name, value] of body.fields) {
      const file = textLiteral(nameOf(value));
      before.push(
        `form.append(${textLiteral(name)}, ${typeof value === "string" ? file : `await openAsBlob(${file}), ${file}`});`,
      );
    }
    lines.push("  body: form,");
  }
  const call = `const response = await fetch(${textLiteral(url)}, {`;
  return [...before, call, ...lines, "});", "console.log(response.status, await response.text());"].join("\n");
}

function pythonCode({ method, url, headers, body }: CodeRequest, withKey: boolean): string {
  const all = [
    ...(withKey ? ['        "Authorization": f"Bearer {os.environ[\'API_KEY\']}",'] : []),
    ...Object.entries(headers).map(([name, value]) => `        ${textLiteral(name)}: ${textLiteral(value)},`),
    ...(body && body.kind !== "form" && !isJson(body) ? [`        "Content-Type": ${textLiteral(body.type)},`] : []),
  ];
  const lines = [`    ${textLiteral(method)},`, `    ${textLiteral(url)},`];
  if (all.length > 0) lines.push("    headers={", ...all, "    },");
  if (body?.kind === "text")
    lines.push(
      isJson(body)
        ? `    json=${jsonOr(body, (value) => pythonLiteral(value, "    "))},`
        : `    data=${textLiteral(body.text)}.encode(),`,
    );
  if (body?.kind === "file") lines.push(`    data=open(${textLiteral(body.file.name)}, "rb"),`);
  if (body?.kind === "form") {
    const files = body.fields.filter(([, value]) => typeof value !== "string");
    const texts = body.fields.filter(([, value]) => typeof value === "string");
    const member = ([name, value]: readonly [string, string | File]): string => {
      const literal = textLiteral(nameOf(value));
      const sent =
        typeof value !== "string"
          ? `open(${literal}, "rb")`
          : files.length === 0 && isMultipart(body)
            ? `(None, ${literal})`
            : literal;
      return `${textLiteral(name)}: ${sent}`;
    };
    // Without a file, the Python library requests sends a multipart body only if texts are passed as files too.
    const asFiles = files.length > 0 ? files : isMultipart(body) ? texts : [];
    const asData = asFiles === texts ? [] : texts;
    if (asData.length > 0) lines.push(`    data={${asData.map(member).join(", ")}},`);
    if (asFiles.length > 0) lines.push(`    files={${asFiles.map(member).join(", ")}},`);
  }
  const imports = [...(withKey ? ["import os"] : []), "import requests", ""];
  return [...imports, "response = requests.request(", ...lines, ")", "print(response.status_code, response.text)"].join(
    "\n",
  );
}

const isMultipart = (body: CodeBody): boolean => body.type === "multipart/form-data";
const isJson = (body: CodeBody): boolean => body.kind === "text" && parsed(body.text) !== undefined;

/** The value of a JSON text if serialising it again loses nothing; otherwise undefined. */
function parsed(text: string): unknown {
  const typed = typedJson(text);
  return "value" in typed ? typed.value : undefined;
}

const jsonOr = ({ text }: { readonly text: string }, write: (value: unknown) => string): string => {
  const value = parsed(text);
  return value === undefined ? textLiteral(text) : write(value);
};
