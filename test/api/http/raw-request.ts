import { request, type IncomingHttpHeaders } from "node:http";

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends a request exactly as given: the path is not normalised, any header is allowed, the body is sent in chunks. */
export function rawRequest(
  target: { readonly url: string },
  options: { method: string; path: string; headers?: Record<string, string>; body?: Iterable<string | Buffer> },
): Promise<RawAnswer> {
  const { hostname, port } = new URL(target.url);
  return new Promise((resolve, reject) => {
    const { method, path, headers = {} } = options;
    const outgoing = request({ hostname, port, method, path, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
      incoming.on("error", reject);
    });
    outgoing.on("error", reject);
    for (const chunk of options.body ?? []) outgoing.write(chunk);
    outgoing.end();
  });
}
