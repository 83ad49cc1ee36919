import { once } from "node:events";
import { Readable } from "node:stream";
import type { Duplex } from "node:stream";
import type { Client, Submittable } from "pg";

/** The driver's connection as COPY needs it; its types lack this. */
interface Wire {
  readonly stream: Duplex;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

/** Each row arrives in a message of its own; they are forwarded in batches. */
const BATCH_BYTES = 64 * 1024;

/** Rows as text, one per line, as `copy ... to stdout` writes them. Read them to the end before using the connection again. */
export function copyOut(client: Client, statement: string): Readable & { readonly rows: number } {
  const out = new CopyOut(statement);
  client.query(out as unknown as Submittable);
  return out;
}

class CopyOut extends Readable {
  /** Set once the stream has ended. */
  rows = 0;
  #wire: Wire | undefined;
  #batch: Buffer[] = [];
  #bytes = 0;
  readonly #statement: string;

  constructor(statement: string) {
    super({ highWaterMark: 4 * BATCH_BYTES });
    this.#statement = statement;
  }

  submit(wire: Wire): void {
    this.#wire = wire;
    wire.query(this.#statement);
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    // Copied, because the driver overwrites its buffer with the next message.
    this.#batch.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
    if (this.#bytes >= BATCH_BYTES && !this.#flush()) this.#wire?.stream.pause();
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.rows = rowsOf(text);
    this.#flush();
    this.push(null);
  }

  handleError(error: Error): void {
    this.destroy(error);
  }

  handleReadyForQuery(): void {}

  override _read(): void {
    this.#wire?.stream.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#wire?.stream.resume();
    done(error);
  }

  #flush(): boolean {
    const batch = Buffer.concat(this.#batch);
    [this.#batch, this.#bytes] = [[], 0];
    return batch.length === 0 || this.push(batch);
  }
}

/** Sends rows to `copy ... from stdin`, and returns how many the server has taken. */
export function copyIn(client: Client, statement: string, content: AsyncIterable<Buffer>): Promise<number> {
  return new Promise((resolve, reject) => {
    let rows = 0;
    let failure: Error | undefined;
    const feed = async (wire: Wire): Promise<void> => {
      try {
        for await (const chunk of content) {
          if (failure) return;
          wire.sendCopyFromChunk(chunk);
          if (wire.stream.writableNeedDrain) await drained(wire.stream);
        }
        if (!failure) wire.endCopyFrom();
      } catch (error) {
        failure ??= error as Error;
        wire.sendCopyFail("what is copied cannot be read");
      }
    };
    const copying = {
      submit: (wire: Wire) => wire.query(statement),
      handleCopyInResponse: (wire: Wire) => void feed(wire),
      handleCommandComplete: ({ text }: { text: string }) => (rows = rowsOf(text)),
      handleError: (error: Error) => {
        failure ??= error;
        reject(failure);
      },
      handleReadyForQuery: () => resolve(rows),
    };
    client.query(copying as unknown as Submittable);
  });
}

/** Resolves when the stream accepts more, or has closed: then the driver reports why. */
async function drained(stream: Duplex): Promise<void> {
  const other = new AbortController();
  const { signal } = other;
  try {
    await Promise.race([once(stream, "drain", { signal }), once(stream, "close", { signal })]);
  } finally {
    other.abort();
  }
}

/** The count in a command tag such as `COPY 12`. */
function rowsOf(tag: string): number {
  return Number(/^COPY (\d+)$/.exec(tag)?.[1] ?? Number.NaN);
}
