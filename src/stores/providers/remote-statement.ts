import type { Duplex } from "node:stream";
import type { Json } from "../../domain/json.ts";
import { parameterOf, valueOf } from "./remote-values.ts";

/** The result of a statement. */
export interface RemoteRows {
  readonly columns: readonly string[];
  readonly rows: ReadonlyArray<readonly Json[]>;
  /** Whether there are more rows than requested. */
  readonly truncated: boolean;
  /** Number of changed rows; null if the statement changes none. */
  readonly changed: number | null;
}

/** An error of the server. The message may contain data, but no secret. */
export class RemoteError extends Error {
  /** SQLSTATE; "" if the response did not follow the protocol. */
  readonly sqlstate: string;

  constructor(sqlstate: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "RemoteError";
    this.sqlstate = sqlstate;
  }
}

/** Thrown if a result is longer than it may be. */
export class RemoteTooLarge extends Error {
  constructor(maxBytes: number) {
    super(`The result is longer than ${maxBytes} bytes: select fewer rows or columns.`);
    this.name = "RemoteTooLarge";
  }
}

/** The part of pg's connection that a statement uses. */
interface Wire {
  readonly stream: Duplex;
  parse(message: { text: string }): void;
  bind(message: { values: ReadonlyArray<string | null> }): void;
  describe(message: { type: "P"; name: string }): void;
  execute(message: { portal: string; rows: number }): void;
  sync(): void;
  sendCopyFail(message: string): void;
}

/**
 * Runs one statement on a remote database with the extended protocol: the server refuses a text of several statements, so a statement
 * cannot end its transaction and continue outside it. The server sends at most one row more than requested.
 */
export class RemoteStatement {
  readonly done: Promise<RemoteRows>;
  #resolve!: (rows: RemoteRows) => void;
  #reject!: (error: unknown) => void;
  readonly #text: string;
  readonly #params: ReadonlyArray<string | null>;
  readonly #maxRows: number;
  readonly #maxBytes: number;
  #columns: ReadonlyArray<{ readonly name: string; readonly dataTypeID: number }> = [];
  readonly #rows: Json[][] = [];
  #isMore = false;
  #changed: number | null = null;
  #failure: Error | null = null;
  #stopCounting: () => void = () => undefined;

  constructor(text: string, params: readonly Json[], limits: { readonly maxRows: number; readonly maxBytes: number }) {
    this.#text = text;
    this.#params = params.map(parameterOf);
    this.#maxRows = limits.maxRows;
    this.#maxBytes = limits.maxBytes;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  // pg calls the following methods.

  submit(wire: Wire): void {
    let bytes = 0;
    const count = (chunk: Buffer): void => {
      bytes += chunk.length;
      // A single value may exceed the available memory, so it is refused before it has arrived completely.
      if (bytes > this.#maxBytes) wire.stream.destroy(new RemoteTooLarge(this.#maxBytes));
    };
    wire.stream.on("data", count);
    this.#stopCounting = () => wire.stream.off("data", count);
    wire.parse({ text: this.#text });
    wire.bind({ values: this.#params });
    wire.describe({ type: "P", name: "" });
    wire.execute({ portal: "", rows: this.#maxRows + 1 });
    wire.sync();
  }

  handleRowDescription(message: { fields: ReadonlyArray<{ name: string; dataTypeID: number }> }): void {
    this.#columns = message.fields;
  }

  handleDataRow({ fields }: { fields: ReadonlyArray<string | null> }): void {
    if (this.#rows.length === this.#maxRows) {
      this.#isMore = true;
      return;
    }
    this.#rows.push(
      fields.map((field, at) => (field === null ? null : valueOf(this.#columns[at]?.dataTypeID ?? 0, field))),
    );
  }

  handlePortalSuspended(): void {
    this.#isMore = true;
  }

  handleCommandComplete({ text }: { text: string }): void {
    const [, command, count] = /^(\w+)(?: \d+)? (\d+)$/.exec(text) ?? [];
    if (command !== undefined && command !== "SELECT" && command !== "FETCH") this.#changed = Number(count);
  }

  handleEmptyQuery(): void {
    this.#failure = new RemoteError("42601", "there is no statement in it");
  }

  handleCopyInResponse(wire: Wire): void {
    wire.sendCopyFail("COPY is not supported here");
    // The server ignores the one that was sent while it waits for data.
    wire.sync();
  }

  handleCopyData(): void {
    this.#failure = new RemoteError("0A000", "COPY is not supported: use SELECT");
  }

  handleError(error: Error): void {
    this.#stopCounting();
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    this.#stopCounting();
    if (this.#failure !== null) return this.#reject(this.#failure);
    const columns = this.#columns.map(({ name }) => name);
    this.#resolve({ columns, rows: this.#rows, truncated: this.#isMore, changed: this.#changed });
  }
}
