import { ApiProblem, problemOf } from "../api/problem.ts";
import type { Handle } from "./handle.ts";
import type { Conversation, PageRun, PageView, Paged, Uploaded, Vote } from "./shapes.ts";

type Method = "GET" | "POST" | "PATCH" | "DELETE";
interface Sent {
  readonly json?: unknown;
  readonly form?: FormData;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

const EVENT_STREAM = { Accept: "text/event-stream" };

/** The requests of one published page. They carry the visitor's handle and never a cookie; each throws an ApiProblem. */
export class PageApi {
  readonly #base: string;
  readonly #handle: Handle;
  /** One request for a handle at a time, so that a page never gets two. */
  #entering: Promise<void> | null = null;
  /** Whether a handle can be had without a password. */
  #isOpen = false;
  /** Called when the page is closed, and when only a password leads on. */
  onClosed: () => void = () => undefined;
  onRefused: () => void = () => undefined;

  constructor(token: string, handle: Handle) {
    this.#base = `/f/${token}`;
    this.#handle = handle;
  }

  /** Whether this browser has a handle, so that there may be conversations of it. */
  get isKnown(): boolean {
    return this.#handle.get() !== null;
  }

  async page(): Promise<PageView> {
    const view = await this.#json<PageView>("GET", "/page").catch((error: unknown) => {
      if (!isRefused(error) || !this.isKnown) throw error;
      this.#handle.set(null);
      return this.#json<PageView>("GET", "/page");
    });
    // Who already has a handle of a page with a password sees no needs_password either.
    if (!this.isKnown) this.#isOpen = !view.needs_password;
    return view;
  }

  /** Gets a handle for this browser. Throws an ApiProblem with status 401 if the password is wrong. */
  async enter(password?: string): Promise<void> {
    this.#handle.set(null);
    const json = password === undefined ? {} : { password };
    const { visitor } = await this.#json<{ readonly visitor: string }>("POST", "/visitors", { json });
    this.#handle.set(visitor);
  }

  /** Starts a run and returns the stream of its frames. The same `key` never starts a second run. */
  async start(
    { inputs, conversation, key }: { inputs: unknown; conversation: string | null; key: string },
    signal: AbortSignal,
  ): Promise<Response> {
    const json = { inputs, ...(conversation !== null && { conversation_id: conversation }) };
    return this.#visit("POST", "/runs", { json, signal, headers: { ...EVENT_STREAM, "Idempotency-Key": key } });
  }

  /** The stream of a run, which begins with all of its outputs so far. */
  follow(runId: string, signal: AbortSignal): Promise<Response> {
    return this.#visit("GET", `/runs/${runId}`, { signal, headers: EVENT_STREAM });
  }

  run(runId: string): Promise<PageRun> {
    return this.#json("GET", `/runs/${runId}`);
  }

  async cancel(runId: string): Promise<void> {
    await this.#visit("POST", `/runs/${runId}/cancel`, { json: {} });
  }

  async resume(runId: string, answer: { pause_id: string; action: string; data?: unknown }): Promise<void> {
    await this.#visit("POST", `/runs/${runId}/resume`, { json: answer });
  }

  async feedback(runId: string, feedback: Vote): Promise<void> {
    await this.#visit("POST", `/runs/${runId}/feedback`, { json: { feedback } });
  }

  /** Uploads a file for the runs of a conversation; without one, a new conversation is made. */
  upload(node: string, file: File, conversation: string | null): Promise<Uploaded> {
    const form = new FormData();
    form.append("file", file);
    const query = conversation === null ? "" : `?${new URLSearchParams({ conversation_id: conversation }).toString()}`;
    return this.#json("POST", `/documents/${node}${query}`, { form });
  }

  async files(node: string, conversation: string): Promise<readonly Uploaded[]> {
    const query = new URLSearchParams({ conversation_id: conversation }).toString();
    return (await this.#json<Paged<Uploaded>>("GET", `/documents/${node}?${query}`)).data;
  }

  async removeFile(node: string, filename: string, conversation: string): Promise<void> {
    const query = new URLSearchParams({ conversation_id: conversation, filename }).toString();
    await this.#visit("DELETE", `/documents/${node}?${query}`);
  }

  async conversations(cursor: string | null): Promise<Paged<Conversation>> {
    if (!this.isKnown) return { data: [], cursor: null, has_more: false };
    return this.#json(
      "GET",
      `/conversations${cursor === null ? "" : `?${new URLSearchParams({ cursor }).toString()}`}`,
    );
  }

  messages(conversation: string, cursor: string | null): Promise<Paged<PageRun>> {
    const query = new URLSearchParams({ page_size: "50", ...(cursor !== null && { cursor }) }).toString();
    return this.#json("GET", `/conversations/${conversation}/messages?${query}`);
  }

  async rename(conversation: string, title: string): Promise<void> {
    await this.#visit("PATCH", `/conversations/${conversation}`, { json: { title } });
  }

  async remove(conversation: string): Promise<void> {
    await this.#visit("DELETE", `/conversations/${conversation}`);
  }

  async #json<T>(method: Method, path: string, sent: Sent = {}): Promise<T> {
    const headers = { Accept: "application/json" };
    // The page itself and a new handle are had without a handle.
    const isDoor = path === "/page" || path === "/visitors";
    const response = await (isDoor
      ? this.#send(method, path, { ...sent, headers })
      : this.#visit(method, path, { ...sent, headers }));
    return (await response.json()) as T;
  }

  /** A request that needs a handle, which a visitor who only looks at the page does not have yet. */
  async #visit(method: Method, path: string, sent: Sent = {}): Promise<Response> {
    if (!this.isKnown) await this.#newHandle();
    try {
      return await this.#send(method, path, sent);
    } catch (error) {
      if (!isRefused(error)) throw error;
      this.#handle.set(null);
      await this.#newHandle();
      return this.#send(method, path, sent);
    }
  }

  async #newHandle(): Promise<void> {
    this.#entering ??= this.#enterUnasked().finally(() => {
      this.#entering = null;
    });
    return this.#entering;
  }

  async #enterUnasked(): Promise<void> {
    if (!this.#isOpen) {
      const { needs_password } = await this.page();
      if (needs_password) {
        this.onRefused();
        throw new ApiProblem(401, "unauthorized", "Enter the password again.", null);
      }
    }
    await this.enter();
  }

  async #send(method: Method, path: string, { json, form, signal, headers }: Sent): Promise<Response> {
    const handle = this.#handle.get();
    const all = new Headers({ ...headers, ...(handle !== null && { Authorization: `Bearer ${handle}` }) });
    if (json !== undefined) all.set("Content-Type", "application/json");
    const response = await fetch(this.#base + path, {
      method,
      headers: all,
      body: json === undefined ? (form ?? null) : JSON.stringify(json),
      credentials: "omit",
      cache: "no-store",
      ...(signal && { signal }),
    });
    if (response.ok) return response;
    const problem = problemOf(response, await response.json().catch(() => null));
    if (isClosed(problem) || (path === "/page" && problem.status === 404)) this.onClosed();
    throw problem;
  }
}

/** Whether the page is revoked or past its end, so that no later request can succeed. */
const isClosed = ({ code }: ApiProblem): boolean => code === "page_closed";

/** Whether the handle, or a password, is not accepted. */
export const isRefused = (error: unknown): boolean => error instanceof ApiProblem && error.status === 401;

/** What to tell a visitor about an error. */
export function sayError(error: unknown): string {
  if (!(error instanceof ApiProblem)) return "Cannot reach the server. Check your connection and try again.";
  if (error.status === 429) return "Too many requests at the moment. Wait a minute and try again.";
  if (error.status >= 500) return "Something went wrong on our side. Try again.";
  return error.message;
}
