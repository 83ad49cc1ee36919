import { exactJsonText } from "../../domain/exact-json.ts";

/**
 * Rewrites a server's response, JSON or an event stream, so that a number that JSON.parse would change becomes a string with the same
 * digits, because the SDK uses JSON.parse. Works by lines, because no string and no number in JSON spans a line end.
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
      // Keeps the line ends as they are.
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
