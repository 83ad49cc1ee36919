import { EventSourceParserStream } from "eventsource-parser/stream";
import { CommandFailure } from "./failure.ts";
import type { UploadFile } from "./upload-file.ts";

export interface ApiTarget {
  readonly url: string;
  readonly key: string;
}

/** An event of a server-sent stream. */
interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Thrown when the API refuses a request or a run fails. The message can be printed to a terminal. */
export class ApiRefusal extends CommandFailure {
  readonly status: number;
  readonly body: unknown;

  constructor(request: string, status: number, body: unknown) {
    super(`${request}: ${status} ${describe(body)}`);
    this.name = "ApiRefusal";
    this.status = status;
    this.body = body;
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>;

export interface ApiClient {
  get<T>(path: string, query?: Query): Promise<T>;
  post<T>(path: string, body: unknown): Promise<T>;
  patch<T>(path: string, body: unknown): Promise<T>;
  put<T>(path: string, body: unknown): Promise<T>;
  postForm<T>(path: string, form: FormData): Promise<T>;
  delete(path: string, query?: Query): Promise<void>;
  /** Sends a file as the multipart part `file`, after fields. */
  upload<T>(path: string, query: Query, file: UploadFile, fields?: Readonly<Record<string, string>>): Promise<T>;
  /** The events of a stream until the server closes it. */
  events(path: string): AsyncGenerator<StreamEvent>;
}

/** Calls the HTTP API of a Millrace. Everything it throws is a CommandFailure. */
export function apiClient(target: ApiTarget): ApiClient {
  async function send(method: string, path: string, query: Query, init: RequestInit): Promise<Response> {
    const url = new URL(path, target.url);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const headers = { authorization: `Bearer ${target.key}`, ...(init.headers as Record<string, string> | undefined) };
    let response: Response;
    try {
      response = await fetch(url, { ...init, method, headers });
    } catch (error) {
      throw new CommandFailure(`Cannot connect to ${target.url} (${causeOf(error)}). Is Millrace running there?`, 1, {
        cause: error,
      });
    }
    if (!response.ok) throw new ApiRefusal(`${method} ${path}`, response.status, await bodyOf(response));
    return response;
  }

  const jsonRequest = (body: unknown): RequestInit => ({
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  /** Another server on this port may return a web page, which must not be taken for the API's response. */
  const json = async <T>(response: Response): Promise<T> => {
    const body = await bodyOf(response);
    if (typeof body !== "string") return body as T;
    const type = response.headers.get("content-type") ?? "no content type";
    throw new CommandFailure(
      `The server at ${target.url} is not Millrace: it returned ${type} for ${new URL(response.url).pathname}.`,
    );
  };
  return {
    get: async (path, query = {}) => json(await send("GET", path, query, {})),
    post: async (path, body) => json(await send("POST", path, {}, jsonRequest(body))),
    patch: async (path, body) => json(await send("PATCH", path, {}, jsonRequest(body))),
    put: async (path, body) => json(await send("PUT", path, {}, jsonRequest(body))),
    postForm: async (path, form) => json(await send("POST", path, {}, { body: form })),
    async delete(path, query = {}) {
      await json(await send("DELETE", path, query, {}));
    },
    async upload(path, query, file, fields = {}) {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      form.set("file", file.content, file.name);
      return json(await send("POST", path, query, { body: form }));
    },
    async *events(path) {
      const { body } = await send("GET", path, {}, { headers: { accept: "text/event-stream" } });
      const events = body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
      for await (const { event = "message", data } of events ?? []) yield { event, data: JSON.parse(data) as unknown };
    },
  };
}

async function bodyOf(response: Response): Promise<unknown> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    throw new CommandFailure(`The response from ${response.url} was interrupted (${causeOf(error)}).`, 1, {
      cause: error,
    });
  }
  if (text === "") return undefined;
  if (!/[/+]json\b/.test(response.headers.get("content-type") ?? "")) return text;
  try {
    return JSON.parse(text);
  } catch {
    // A proxy has cut or replaced the body, so return its text unchanged.
    return text;
  }
}

/** The most specific line of an error body: every location of a 422, the detail of a problem, or the text. */
function describe(body: unknown): string {
  if (typeof body !== "object" || body === null) return typeof body === "string" ? body.slice(0, 500) : "";
  const { detail, title, error } = body as { detail?: unknown; title?: string; error?: { message?: unknown } | null };
  if (Array.isArray(detail)) {
    const issues = detail as { loc?: unknown[]; msg?: string }[];
    return issues.map((issue) => `\n  ${issue.loc?.join(".") ?? ""}: ${issue.msg ?? ""}`).join("");
  }
  if (typeof error?.message === "string") return `${title ?? ""}: ${error.message}`;
  return typeof detail === "string" ? detail : (title ?? JSON.stringify(body));
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error) return (cause as NodeJS.ErrnoException).code ?? cause.message;
  return error instanceof Error ? error.message : String(error);
}
