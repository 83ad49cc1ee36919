import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A stage of the Dockerfile. */
export interface Stage {
  readonly base: string;
  /** Undefined for the last stage, which becomes the image. */
  readonly name: string | undefined;
  /** In order, without FROM; continued lines are joined. */
  readonly instructions: readonly Instruction[];
}

interface Instruction {
  readonly word: string;
  readonly text: string;
}

export interface Copy {
  /** The stage from which files are copied; undefined means the checkout. */
  readonly from: string | undefined;
  readonly source: string;
  readonly target: string;
}

export const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));

export function readDockerfile(): Stage[] {
  const lines = readFileSync(`${CHECKOUT}/Dockerfile`, "utf8")
    .replace(/^#.*\n/gm, "")
    .replace(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line !== "");
  const stages: Array<Stage & { instructions: Instruction[] }> = [];
  for (const line of lines) {
    const [word = "", ...rest] = line.split(" ");
    const text = rest.join(" ");
    if (word === "FROM") stages.push({ base: rest[0] ?? "", name: rest[2], instructions: [] });
    else stages.at(-1)?.instructions.push({ word, text });
  }
  return stages;
}

export function stageOf(name: string | undefined): Stage {
  const stage = readDockerfile().find((each) => each.name === name);
  if (stage === undefined) throw new Error(`The Dockerfile has no stage ${name ?? "without a name"}.`);
  return stage;
}

/** The arguments of all instructions with this keyword. */
export function textsOf(stage: Stage, word: string): string[] {
  return stage.instructions.filter((each) => each.word === word).map(({ text }) => text);
}

export function copiesOf(stage: Stage): Copy[] {
  return textsOf(stage, "COPY").flatMap((text) => {
    const words = text.split(" ");
    const from = /^--from=(.*)$/.exec(words[0] ?? "")?.[1];
    const [target = "", ...sources] = words.slice(from === undefined ? 0 : 1).toReversed();
    return sources.map((source) => ({ from, source, target: target === "./" ? source : target }));
  });
}

/** The environment variables that the image sets. */
export function imageEnvironment(): Record<string, string> {
  const pairs = textsOf(stageOf(undefined), "ENV").flatMap((text) => text.split(" "));
  return Object.fromEntries(pairs.map((pair) => [pair.split("=")[0], pair.slice(pair.indexOf("=") + 1)]));
}

/** The command of an instruction in JSON form, which runs without a shell. */
export function commandOf(stage: Stage, word: "CMD" | "HEALTHCHECK"): string[] {
  const text = textsOf(stage, word).at(-1) ?? "";
  return JSON.parse(text.slice(text.indexOf("["))) as string[];
}
