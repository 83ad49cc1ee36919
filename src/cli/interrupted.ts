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
