/** A word of a shell, whatever is in it. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A request as a command. */
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

/** A request to this service, with the key that its reader has in a variable. */
export function curlOfCall(method: "GET" | "POST", path: string, body?: object): string {
  const key = '-H "Authorization: Bearer $MILLRACE_KEY"';
  const what = method === "GET" ? "" : ` -X ${method}`;
  const data = body === undefined ? "" : ` -H "Content-Type: application/json" -d ${quoted(JSON.stringify(body))}`;
  return `curl${what} ${quoted(location.origin + path)} ${key}${data}`;
}
