import { styleText } from "node:util";

/** Text in a style, where a terminal shows it: not in a pipe or a file (but for FORCE_COLOR), and not where NO_COLOR asks for none. */
export function styled(format: Parameters<typeof styleText>[0], text: string): string {
  const { FORCE_COLOR: force = "", NO_COLOR: no = "", TERM: terminal } = process.env;
  const shows = force === "" ? process.stdout.isTTY && no === "" && terminal !== "dumb" : force !== "0";
  return shows ? styleText(format, text) : text;
}
