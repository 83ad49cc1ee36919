import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

export const program = fileURLToPath(new URL("../../dist/src/cli-main.js", import.meta.url));

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line in a folder without any state of `npm start`. */
export async function millrace(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const env = { PATH: process.env["PATH"], ...environment };
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], { env, cwd: "/" }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}
