import { basename, relative } from "node:path";

/** Text as one word of a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The command that started this program, to show in messages: npx, a command on the PATH, or a file. */
export function invocation(file = process.argv[1] ?? "", folder = process.cwd()): string {
  const name = basename(file);
  if (!name.endsWith("js")) return /[/\\]node_modules[/\\]\.bin[/\\]/.test(file) ? `npx --no-install ${name}` : name;
  const path = relative(folder, file);
  return `node ${quoted(path.startsWith("..") ? file : path)}`;
}
