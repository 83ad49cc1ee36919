import { styleText } from "node:util";
import { showMarks } from "../domain/marks.ts";

/** Text in a style, if standard output is a terminal: not in a pipe or a file (except with FORCE_COLOR), and not if NO_COLOR is set. */
export function styled(format: Parameters<typeof styleText>[0], text: string): string {
  const { FORCE_COLOR: force = "", NO_COLOR: no = "", TERM: terminal } = process.env;
  const shows = force === "" ? process.stdout.isTTY && no === "" && terminal !== "dumb" : force !== "0";
  return shows ? styleText(format, text) : text;
}

/** Escape sequences that start and end styles on this terminal. */
// oxlint-disable-next-line no-control-regex
const STYLES = /(\u001B\[(?:1|22|3[123]|39)m)/;

/** A line for a terminal, in which foreign names and values cannot hide or reverse the text around them. */
export function readable(line: string): string {
  return line
    .split(STYLES)
    .map((part, index) => (index % 2 === 1 ? part : showMarks(part)))
    .join("");
}
