import type { Socket } from "node:net";

/** What is used of the parser that undici 7 keeps at its connection. */
interface Parser {
  readonly llhttp: { llhttp_resume(parser: unknown): void };
  readonly ptr: unknown;
  paused: boolean;
  resume(): void;
}

/**
 * Lets an answer end with its connection, also where its reader is slower than its server.
 * Undici 7 pauses its parser for such a reader, and an assertion of it ends the process where the connection ends then:
 * any server could stop a worker so (nodejs/undici#5360; mended in 8, which needs Node 22).
 * Must be called before undici gets the connection: its listeners have to come second.
 */
export function finishPausedAnswers(socket: Socket): void {
  const finish = () => {
    const parser = parserOf(socket);
    if (parser?.paused !== true) return;
    // Parse all bytes that have arrived, even for a slow reader: they are in memory already.
    do parser.resume();
    while (parser.paused && socket.readableLength > 0 && !socket.destroyed);
    if (!parser.paused) return;
    // Undici tells the parser next that nothing more comes, and finds the answer cut short unless it was whole.
    parser.llhttp.llhttp_resume(parser.ptr);
    parser.paused = false;
  };
  for (const event of ["end", "error", "close"]) socket.on(event, finish);
}

function parserOf(socket: Socket): Parser | undefined {
  const key = Object.getOwnPropertySymbols(socket).find(({ description }) => description === "parser");
  return key === undefined ? undefined : ((socket as unknown as Record<symbol, Parser | null>)[key] ?? undefined);
}
