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

/** Documents may contain escape sequences that a terminal would execute. */
export function plainText(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "\ufffd");
}

/** A progress line on standard error, shown only on a terminal. */
export function createProgress(): { show(text: string): void; end(): void } {
  const { stderr } = process;
  let shown = "";
  return {
    show(text) {
      if (!stderr.isTTY || text === shown) return;
      stderr.write(`\r\u001b[K${text}`);
      shown = text;
    },
    end() {
      if (shown !== "") stderr.write("\r\u001b[K");
      shown = "";
    },
  };
}

/** The exit code that a shell expects of a program that SIGINT ended. */
const INTERRUPTED = 130;

/** Follows work that continues after Ctrl-C; `message` says how to follow it again. */
export async function untilInterrupted<T>(follow: () => Promise<T>, message: string): Promise<T> {
  const leave = (): void => {
    console.error(`\n${message}`);
    process.exit(INTERRUPTED);
  };
  process.once("SIGINT", leave);
  try {
    return await follow();
  } finally {
    process.removeListener("SIGINT", leave);
  }
}
