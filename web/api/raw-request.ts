/** A request exactly as the user composed it; only the credential is added. */
export interface RawRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RawBody | null;
}
export type RawBody =
  | { readonly kind: "text"; readonly type: string; readonly text: string }
  | { readonly kind: "form"; readonly type: string; readonly fields: ReadonlyArray<readonly [string, string | File]> }
  | { readonly kind: "file"; readonly type: string; readonly file: File };

export interface RawAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>;
  readonly type: string;
  /** The body as text; null if the bytes are not text. */
  readonly text: string | null;
  readonly bytes: number;
  /** Milliseconds until the headers had arrived, and until the whole body had. */
  readonly headMs: number;
  readonly totalMs: number | null;
  /** The bytes of the body, for saving as a file. */
  readonly content: Blob | null;
}

const TEXT = /json|text|xml|csv|javascript|urlencoded/;
/** Interval at which a growing response is redrawn (ms). */
const LOOK_MS = 150;

/** Sends a request and reports its response while it arrives. It carries the pasted credential or the session, never both. */
export async function sendRaw(
  { method, url, headers, body }: RawRequest,
  signal: AbortSignal,
  onProgress: (answer: RawAnswer) => void,
): Promise<void> {
  const began = performance.now();
  const response = await fetch(url, {
    method,
    signal,
    headers: { ...headers, ...(body !== null && body.kind !== "form" && { "Content-Type": body.type }) },
    body: body === null ? null : bodyOf(body),
    credentials: "Authorization" in headers ? "omit" : "same-origin",
    redirect: "manual",
    cache: "no-store",
  });
  const type = response.headers.get("content-type") ?? "";
  const head = {
    status: response.status,
    statusText: response.type === "opaqueredirect" ? "Redirect (not followed)" : response.statusText,
    headers: [...response.headers],
    type,
    headMs: performance.now() - began,
  };
  const chunks: Array<Uint8Array<ArrayBuffer>> = [];
  const decoder = TEXT.test(type) ? new TextDecoder() : null;
  let text = decoder ? "" : null;
  let bytes = 0;
  let looked = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) break;
    bytes += value.length;
    chunks.push(value);
    if (decoder) text += decoder.decode(value, { stream: true });
    if (performance.now() - looked < LOOK_MS) continue;
    looked = performance.now();
    onProgress({ ...head, text, bytes, totalMs: null, content: null });
  }
  const totalMs = performance.now() - began;
  onProgress({ ...head, text, bytes, totalMs, content: bytes === 0 ? null : new Blob(chunks, { type }) });
}

function bodyOf(body: RawBody): BodyInit {
  switch (body.kind) {
    case "text":
      return body.text;
    case "file":
      return body.file;
    case "form": {
      if (body.type === "application/x-www-form-urlencoded")
        return new URLSearchParams(
          body.fields.flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
        );
      const form = new FormData();
      for (const [name, value] of body.fields) form.append(name, value);
      return form;
    }
  }
}
