import type { RawBody, RawRequest } from "../../api/raw-request.ts";
import { quoted } from "../../parts/curl.ts";

export const LANGUAGES = ["curl", "JavaScript", "Python"] as const;
export type Language = (typeof LANGUAGES)[number];

/** A request in a language. The credential is read from the environment: no snippet holds one. */
export function snippet(language: Language, request: RawRequest, withKey: boolean): string {
  switch (language) {
    case "curl":
      return curlSnippet(request, withKey);
    case "JavaScript":
      return javaScriptSnippet(request, withKey);
    case "Python":
      return pythonSnippet(request, withKey);
  }
}

const nameOf = (value: string | File): string => (typeof value === "string" ? value : value.name);

function curlSnippet({ method, url, headers, body }: RawRequest, withKey: boolean): string {
  const parts = [`curl${method === "GET" ? "" : ` -X ${method}`} ${quoted(url)}`];
  if (withKey) parts.push('-H "Authorization: Bearer $API_KEY"');
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body?.kind === "text") parts.push(`-H ${quoted(`Content-Type: ${body.type}`)}`, `-d ${quoted(body.text)}`);
  if (body?.kind === "file")
    parts.push(`-H ${quoted(`Content-Type: ${body.type}`)}`, `--data-binary ${quoted(`@${body.file.name}`)}`);
  if (body?.kind === "form") {
    const flag = body.type === "multipart/form-data" ? "-F" : "--data-urlencode";
    for (const [name, value] of body.fields)
      parts.push(`${flag} ${quoted(`${name}=${typeof value === "string" ? "" : "@"}${nameOf(value)}`)}`);
  }
  return parts.join(" \\\n  ");
}

function javaScriptSnippet({ method, url, headers, body }: RawRequest, withKey: boolean): string {
  const before: string[] = [];
  const lines = [`  method: ${JSON.stringify(method)},`];
  const all = [
    ...(withKey ? ["    Authorization: `Bearer ${process.env.API_KEY}`,"] : []),
    ...Object.entries(headers).map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`),
    ...(body && body.kind !== "form" ? [`    "Content-Type": ${JSON.stringify(body.type)},`] : []),
  ];
  if (all.length > 0) lines.push("  headers: {", ...all, "  },");
  if (body?.kind === "text") lines.push(`  body: ${jsonOr(body, (value) => `JSON.stringify(${indented(value)})`)},`);
  if (body?.kind === "file") {
    before.push('import { openAsBlob } from "node:fs";', "");
    lines.push(`  body: await openAsBlob(${JSON.stringify(body.file.name)}),`);
  }
  if (body?.kind === "form") {
    const isMultipart = body.type === "multipart/form-data";
    if (body.fields.some(([, value]) => typeof value !== "string"))
      before.push('import { openAsBlob } from "node:fs";', "");
    before.push(`const form = new ${isMultipart ? "FormData" : "URLSearchParams"}();`);
    for (const [name, value] of body.fields) {
      const file = JSON.stringify(nameOf(value));
      before.push(
        `form.append(${JSON.stringify(name)}, ${typeof value === "string" ? file : `await openAsBlob(${file}), ${file}`});`,
      );
    }
    lines.push("  body: form,");
  }
  const call = `const response = await fetch(${JSON.stringify(url)}, {`;
  return [...before, call, ...lines, "});", "console.log(response.status, await response.text());"].join("\n");
}

function pythonSnippet({ method, url, headers, body }: RawRequest, withKey: boolean): string {
  const all = [
    ...(withKey ? ['        "Authorization": f"Bearer {os.environ[\'API_KEY\']}",'] : []),
    ...Object.entries(headers).map(([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`),
    ...(body && body.kind !== "form" && !isJson(body) ? [`        "Content-Type": ${JSON.stringify(body.type)},`] : []),
  ];
  const lines = [`    ${JSON.stringify(method)},`, `    ${JSON.stringify(url)},`];
  if (all.length > 0) lines.push("    headers={", ...all, "    },");
  if (body?.kind === "text")
    lines.push(isJson(body) ? `    json=${jsonOr(body, python)},` : `    data=${JSON.stringify(body.text)},`);
  if (body?.kind === "file") lines.push(`    data=open(${JSON.stringify(body.file.name)}, "rb"),`);
  if (body?.kind === "form") {
    const files = body.fields.filter(([, value]) => typeof value !== "string");
    const texts = body.fields.filter(([, value]) => typeof value === "string");
    const member = ([name, value]: readonly [string, string | File]): string => {
      const literal = JSON.stringify(nameOf(value));
      const sent =
        typeof value !== "string"
          ? `open(${literal}, "rb")`
          : files.length === 0 && isMultipart(body)
            ? `(None, ${literal})`
            : literal;
      return `${JSON.stringify(name)}: ${sent}`;
    };
    // Without a file, requests would not send a multipart body unless the texts are parts as well.
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

const isMultipart = (body: RawBody): boolean => body.type === "multipart/form-data";
const isJson = (body: RawBody): boolean => body.kind === "text" && parsed(body.text) !== undefined;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const jsonOr = ({ text }: { readonly text: string }, write: (value: unknown) => string): string => {
  const value = parsed(text);
  return value === undefined ? JSON.stringify(text) : write(value);
};
const indented = (value: unknown): string => JSON.stringify(value, null, 2).replaceAll("\n", "\n  ");

/** A JSON value as Python writes it. */
function python(value: unknown, indent = "    "): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const isList = Array.isArray(value);
  const inner = `${indent}    `;
  const members = isList
    ? value.map((each) => python(each, inner))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${python(each, inner)}`);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (members.length === 0) return open + close;
  return `${open}\n${members.map((member) => `${inner}${member},`).join("\n")}\n${indent}${close}`;
}
