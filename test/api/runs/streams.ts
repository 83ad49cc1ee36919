/** The lines of a streamed response, as they arrive. */
async function* linesOf(response: Response): AsyncGenerator<string, void> {
  let rest = "";
  for await (const text of textsOf(response)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") throw new Error(`the stream was cut within a line: ${rest}`);
}

/** The frames of a JSON Lines stream, as text, without the empty keep-alive lines. */
export async function* framesOf(response: Response): AsyncGenerator<string, void> {
  for await (const line of linesOf(response)) if (line !== "") yield line;
}

export interface ServerSentEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** The server-sent events of a response, without comments. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerSentEvent, void> {
  let fields: Record<string, string> = {};
  for await (const line of linesOf(response)) {
    if (line === "") {
      if (fields["data"] !== undefined) {
        yield { id: fields["id"] ?? "", event: fields["event"] ?? "message", data: fields["data"] };
      }
      fields = {};
    } else if (!line.startsWith(":")) {
      const at = line.indexOf(": ");
      fields[line.slice(0, at)] = line.slice(at + 2);
    }
  }
}

async function* textsOf(response: Response): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  if (!response.body) return;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
    yield decoder.decode(chunk, { stream: true });
}
