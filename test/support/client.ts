/** A response of the API; `body` is parsed if it is JSON, otherwise text. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // Tests read bodies of every shape; a type here would only lead to casts.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

export interface RequestOptions {
  readonly headers?: Record<string, string>;
  /** Query parameters; an undefined one is omitted. */
  readonly query?: Record<string, string | number | boolean | undefined>;
  readonly signal?: AbortSignal;
}

export interface TestClient {
  get(path: string, options?: RequestOptions): Promise<Answer>;
  post(path: string, body?: unknown, options?: RequestOptions): Promise<Answer>;
  patch(path: string, body: unknown, options?: RequestOptions): Promise<Answer>;
  put(path: string, body: unknown, options?: RequestOptions): Promise<Answer>;
  delete(path: string, options?: RequestOptions): Promise<Answer>;
  /** Sends any method and returns the raw response, for streams. */
  raw(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Response>;
}

/**
 * Calls the API at `target` with a credential, or without one. Objects are sent as JSON; strings, bytes, streams and
 * FormData as they are.
 */
export function client(target: { readonly url: string }, credential?: string): TestClient {
  async function raw(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Response> {
    const url = new URL(path, target.url);
    for (const [name, value] of Object.entries(options.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const headers = new Headers(credential === undefined ? {} : { authorization: `Bearer ${credential}` });
    if (body !== undefined && !isRaw(body)) headers.set("content-type", "application/json");
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
    return fetch(url, {
      method,
      headers,
      redirect: "manual",
      ...(body === undefined ? {} : { body: isRaw(body) ? body : JSON.stringify(body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  }

  async function send(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Answer> {
    const response = await raw(method, path, body, options);
    const text = await response.text();
    const isJson = /[/+]json\b/.test(response.headers.get("content-type") ?? "");
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text !== "" ? JSON.parse(text) : text,
    };
  }

  return {
    get: (path, options) => send("GET", path, undefined, options),
    post: (path, body, options) => send("POST", path, body, options),
    patch: (path, body, options) => send("PATCH", path, body, options),
    put: (path, body, options) => send("PUT", path, body, options),
    delete: (path, options) => send("DELETE", path, undefined, options),
    raw,
  };
}

function isRaw(body: unknown): body is string | FormData | Uint8Array | URLSearchParams {
  return (
    typeof body === "string" ||
    body instanceof FormData ||
    body instanceof Uint8Array ||
    body instanceof URLSearchParams
  );
}
