import type { ChildPool, PoolCall } from "../children/child-pool.ts";
import { ChildPoolError, withRetry, type PoolFailure } from "../children/pool-failure.ts";
import { DocumentError, type DocumentErrorCode } from "./errors.ts";
import type { ReadFailure } from "./protocol.ts";

/**
 * Has a child read a document; reading has no effects, so it is retried if its process was killed from outside. Throws DocumentError for a
 * document that cannot be read, and otherwise like the pool.
 */
export async function readInChild<Reply extends { readonly ok: boolean }>(
  pool: ChildPool,
  call: PoolCall,
): Promise<{ readonly reply: Extract<Reply, { readonly ok: true }>; readonly body: Buffer }> {
  try {
    const { header, body } = await withRetry(() => pool.call(call));
    const reply = header as { readonly ok: true } | ReadFailure;
    if (!reply.ok) throw new DocumentError(reply.code, reply.message, { cause: reply.detail });
    return { reply: reply as Extract<Reply, { readonly ok: true }>, body };
  } catch (error) {
    const failure = error instanceof ChildPoolError ? FAILURES[error.failure] : undefined;
    throw failure ? new DocumentError(...failure) : error;
  }
}

/** What the end of a parser's process means for its document. */
const FAILURES: { readonly [Failure in PoolFailure]?: readonly [DocumentErrorCode, string] } = {
  timeout: ["document_timeout", "Reading the document takes too long."],
  memory: ["document_too_large", "The document needs too much memory to read."],
  output_too_large: ["document_too_large", "The document's text is too long."],
  crashed: ["document_broken", "The document crashes the parser."],
};
