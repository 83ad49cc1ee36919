/** The look that the publisher has set. */
export interface Look {
  readonly name: string;
  /** `#rrggbb`, or null for the default. */
  readonly colour: string | null;
  readonly welcome: string | null;
}

/** What `GET /f/{token}/page` answers. With `needs_password`, everything that follows it is null until the visitor has a handle. */
export interface PageView {
  readonly kind: "form" | "chat";
  readonly look: Look;
  readonly needs_password: boolean;
  readonly inputs: InputsSchema | null;
  readonly outputs: InputsSchema | null;
  /** The input and the output that are the two sides of a conversation. */
  readonly chat: { readonly input: string; readonly output: string } | null;
  readonly documents: readonly UploadInput[] | null;
  readonly limits: { readonly input_bytes: number; readonly title_chars: number } | null;
}

export interface InputsSchema {
  readonly properties?: Readonly<Record<string, { readonly title?: string; readonly description?: string }>>;
  readonly required?: readonly string[];
}

/** An input that takes files. `files` reads every file of the conversation, the others one, by its ID. */
export interface UploadInput {
  readonly node_id: string;
  readonly title: string | null;
  readonly kind: "files" | "audio" | "image";
  /** Media types; null for every type that can be read. */
  readonly accept: readonly string[] | null;
  readonly max_bytes: number;
}

/** A question that a run asks while it is paused. It has no text where it is for people of the organisation. */
export interface Pause {
  readonly pause_id: string;
  readonly answerable: boolean;
  readonly message: string | null;
  readonly data: unknown;
  readonly form: unknown;
  readonly actions: ReadonlyArray<{ readonly id: string; readonly label?: string }>;
}

export type RunState = "PENDING" | "RUNNING" | "RESUMED" | "PAUSED" | "COMPLETED" | "FAILED" | "CANCELLED";
export type Vote = "positive" | "negative";

export interface Citation {
  readonly index: number;
  readonly name: string;
  readonly page_start: number | null;
  readonly page_end: number | null;
  /** Only http and https. */
  readonly url: string | null;
}

/** A run as it stands; in a stream, `outputs` has only what is new. */
export interface Frame {
  readonly run_id: string;
  readonly conversation_id: string;
  readonly state: RunState;
  readonly outputs: Readonly<Record<string, unknown>>;
  /** Whether each output in this frame starts again from the beginning. */
  readonly reset?: true;
  readonly citations: readonly Citation[];
  readonly progress: { readonly completed: number; readonly total: number };
  readonly pauses: readonly Pause[];
  readonly error: { readonly code: string; readonly message: string } | null;
}

export interface PageRun extends Frame {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly feedback: Vote | null;
}

export interface Conversation {
  readonly conversation_id: string;
  readonly title: string | null;
  readonly updated_at: string;
}

export interface Uploaded {
  readonly file_id: string;
  readonly filename: string;
  readonly size: number;
  readonly status: string;
  readonly error: { readonly message: string } | null;
  readonly conversation_id: string;
}

export interface Paged<T> {
  readonly data: readonly T[];
  readonly cursor: string | null;
  readonly has_more: boolean;
}
