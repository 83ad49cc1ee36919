import type { Socket } from "node:net";

/** The part of undici 7's parser that is used here; undici stores the parser on the connection. */
interface Parser {
  readonly llhttp: { llhttp_resume(parser: unknown): void };
  readonly ptr: unknown;
  paused: boolean;
  resume(): void;
}

/**
 * Lets a response end with its connection, even if its reader is slower than its server. Undici 7 pauses its parser for such a reader, and
 * an assertion ends the process if the connection ends then: any server could stop a worker this way (nodejs/undici#5360; fixed in 8, which
 * needs Node 22). Must be called before undici gets the connection, because its listeners have to come second.
 */
export function finishPausedAnswers(socket: Socket): void {
  const finish = () => {
    const parser = parserOf(socket);
    if (parser?.paused !== true) return;
    // Parses all bytes that have arrived, even for a slow reader, because they are in memory already.
    do parser.resume();
    while (parser.paused && socket.readableLength > 0 && !socket.destroyed);
    if (!parser.paused) return;
    // Next, undici tells the parser that the data has ended, and treats an incomplete response as cut short.
    parser.llhttp.llhttp_resume(parser.ptr);
    parser.paused = false;
  };
  for (const event of ["end", "error"]) socket.on(event, finish);
}

function parserOf(socket: Socket): Parser | undefined {
  const key = Object.getOwnPropertySymbols(socket).find(({ description }) => description === "parser");
  return key === undefined ? undefined : ((socket as unknown as Record<symbol, Parser | null>)[key] ?? undefined);
}
