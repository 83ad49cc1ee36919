import { exactJsonText } from "../../domain/exact-json.ts";

/**
 * The same answer of a server, JSON or a stream of events, in which a number that reading would change is a text with the same digits:
 * the SDK reads with JSON.parse. By lines, since no string and no number of JSON goes over the end of one.
 */
export function exactAnswer(response: Response): Response {
  const type = response.headers.get("content-type") ?? "";
  const isStream = type.includes("text/event-stream");
  if (response.body === null || !(isStream || /[/+]json\b/.test(type))) return response;
  const exactLine = (line: string): string => (isStream && !line.startsWith("data:") ? line : exactJsonText(line));
  let parts: string[] = [];
  const lines = new TransformStream<string, string>({
    transform(chunk, controller) {
      const end = Math.max(chunk.lastIndexOf("\n"), chunk.lastIndexOf("\r")) + 1;
      parts.push(end === 0 ? chunk : chunk.slice(0, end));
      if (end === 0) return;
      // The ends of lines stay as they are.
      controller.enqueue(
        parts
          .join("")
          .split(/(?<=[\r\n])/)
          .map(exactLine)
          .join(""),
      );
      parts = [chunk.slice(end)];
    },
    flush(controller) {
      controller.enqueue(exactLine(parts.join("")));
    },
  });
  const body = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(lines)
    .pipeThrough(new TextEncoderStream());
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  return new Response(body, { status: response.status, headers });
}
