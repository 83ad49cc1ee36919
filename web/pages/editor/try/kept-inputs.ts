import { keep, readKept } from "../../../parts/kept.ts";
import { textsOf } from "../../../flow/input-fields.ts";

/** What was entered for a flow. */
export interface Entered {
  readonly inputs: Readonly<Record<string, string>>;
  /** The user ID of the run; it also owns its documents. */
  readonly userId: string;
}

/** Longest input that is remembered: a picture or recording is not. */
const LONGEST = 100_000;
const keyOf = (projectId: string): string => `millrace.try.${projectId}`;

/** What was last entered for a flow in this browser. */
export function rememberedInputs(projectId: string): Entered {
  try {
    const { inputs = {}, userId = "" } = JSON.parse(readKept(keyOf(projectId)) ?? "{}") as Partial<Entered>;
    return { inputs: textsOf(inputs), userId: typeof userId === "string" ? userId : "" };
  } catch {
    return { inputs: {}, userId: "" };
  }
}

export function rememberInputs(projectId: string, { inputs, userId }: Entered): void {
  const short = Object.entries(inputs).filter(([, text]) => text.length <= LONGEST);
  keep(keyOf(projectId), JSON.stringify({ inputs: Object.fromEntries(short), userId }));
}

/** A user ID for documents that are uploaded to try a flow, because documents belong to one. */
export function newUserId(): string {
  const digits = [...crypto.getRandomValues(new Uint8Array(4))].map((byte) => byte.toString(16).padStart(2, "0"));
  return `try-${digits.join("")}`;
}
