/** What a shell expects of a program that SIGINT ended. */
const INTERRUPTED = 130;

/** Follows something that goes on without us: where Ctrl-C ends the following, `message` says how to come back to it. */
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
