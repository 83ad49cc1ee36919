import type { JsonObject } from "../../domain/json.ts";
import { serveRequests } from "../children/serve.ts";
import { DocumentError } from "./errors.ts";
import type { ParseReply, ParseRequest, ReadFailure } from "./protocol.ts";
import { readDocument } from "./read-document.ts";

/** Makes this process a parsing child; called by the entry file that a document parser is given. */
export function serveParser(): void {
  serveAnswers(250, async (header, body) => {
    const { text, ...found } = await readDocument(header as ParseRequest, body);
    const reply: ParseReply = { ok: true, ...found };
    return { reply, body: Buffer.from(text) };
  });
}

/**
 * Serves requests to read documents, one by one; an exception of `read` becomes a ReadFailure. `wornAtMib` is resident memory, as in
 * Service.
 */
export function serveAnswers(
  wornAtMib: number,
  read: (header: JsonObject, body: Buffer) => Promise<{ readonly reply: JsonObject; readonly body: Buffer }>,
): void {
  refuseEval();
  serveRequests({
    async handle(request) {
      try {
        const { reply, body } = await read(request.header, request.body);
        return { header: reply, body };
      } catch (error) {
        const { code, message, cause } = error instanceof DocumentError ? error : unreadable(error);
        const detail = cause instanceof Error ? `${cause.name}: ${cause.message}`.slice(0, 500) : "";
        const failure: ReadFailure = { ok: false, code, message, detail };
        return { header: failure, body: Buffer.alloc(0) };
      }
    },
    wornAtMib,
  });
}

/**
 * Prevents the creation of code from strings from here on, because parsers have been exploited that way (CVE-2024-4367). V8's own flag
 * cannot be used, because Node 22 needs `eval` to load CommonJS packages.
 */
function refuseEval(): void {
  const refuse = function (): never {
    throw new EvalError("Code generated from strings is not allowed here.");
  };
  // Packages test `instanceof Function`, which must keep working.
  refuse.prototype = Function.prototype;
  const makers = [() => 1, async () => 1, function* () {}, async function* () {}];
  for (const maker of makers) {
    Object.defineProperty(Object.getPrototypeOf(maker), "constructor", {
      value: refuse,
      writable: false,
      configurable: false,
    });
  }
  Object.assign(globalThis, { eval: refuse, Function: refuse });
}

/** An unexpected parser error means a malformed file; its internal message is not shown to the uploader. */
function unreadable(error: unknown): DocumentError {
  if (error instanceof RangeError && /allocation failed|allocate memory|Invalid string length/i.test(error.message)) {
    return new DocumentError("document_too_large", "The document needs too much memory to read.");
  }
  return new DocumentError("document_broken", "The document cannot be read.", { cause: error });
}
