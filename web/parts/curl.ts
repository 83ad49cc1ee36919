import { quoted } from "../../src/domain/flow/io/literals.ts";

/** A request as a curl command. */
export function curl({
  method,
  url,
  headers = {},
  body,
}: {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}): string {
  const parts = [
    `curl${method === "GET" ? "" : ` -X ${quoted(method)}`} ${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ];
  return parts.join(" ");
}

/** A curl command for this installation that reads the key from an environment variable. */
export function curlOfCall(method: "GET" | "POST", path: string, body?: object): string {
  const key = '-H "Authorization: Bearer $MILLRACE_KEY"';
  const what = method === "GET" ? "" : ` -X ${method}`;
  const data = body === undefined ? "" : ` -H "Content-Type: application/json" -d ${quoted(JSON.stringify(body))}`;
  return `curl${what} ${quoted(location.origin + path)} ${key}${data}`;
}
