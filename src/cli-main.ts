import { runCommandLine } from "./cli/command-line.ts";

// A closed pipe, as in `millrace ... | head`, is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
process.exitCode = await runCommandLine(process.argv.slice(2));
