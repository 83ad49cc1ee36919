/** The instructions of a judge; see `services/evals/judge.ts`. */
const JUDGES = "You judge the output of a program by a rubric.";

/**
 * The stub's output as a judge; null if the request is for something else. It ignores the rubric: it counts how many words of the
 * reference, or otherwise of the answer, occur in the answer, or otherwise in the passages.
 */
export function judgement(system: string, prompt: string): string | null {
  if (!system.startsWith(JUDGES)) return null;
  const fence = /-([0-9a-f]{16});/.exec(system)?.[1] ?? "";
  const section = (name: string): string | undefined =>
    prompt.split(`<${name}-${fence}>`)[1]?.split(`</${name}-${fence}>`)[0];
  const answer = section("answer") ?? prompt;
  const [wanted, within, where] =
    section("reference") === undefined
      ? [answer, section("passages") ?? answer, "the answer's words"]
      : [section("reference") ?? "", answer, "the reference's words"];
  const known = new Set(wordsOf(within));
  const words = wordsOf(wanted);
  const found = words.filter((word) => known.has(word)).length;
  const share = words.length === 0 ? 0 : found / words.length;
  const reasoning = `[model-stub: no model] ${found} of ${words.length} of ${where} are found.`;
  return JSON.stringify({ reasoning, ...answerBy(system, share) });
}

function answerBy(system: string, share: number): { readonly score: number } | { readonly label: string } {
  const scale = /"score": a number from (-?[\d.]{1,20}) \(.{1,60}\) to (-?[\d.]{1,20}) \(/.exec(system);
  if (scale !== null) {
    const [min, max] = [Number(scale[1]), Number(scale[2])];
    return { score: min + share * (max - min) };
  }
  const from = system.lastIndexOf('"label": one of ');
  const labels = stringsIn(system.slice(from + 16));
  // The best label comes first, as people usually write them.
  return { label: (share >= 0.5 ? labels[0] : labels.at(-1)) ?? "" };
}

/** The JSON strings within a text. */
function stringsIn(text: string): string[] {
  const found: string[] = [];
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    let end = at + 1;
    while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
    if (end >= text.length) break;
    found.push(JSON.parse(text.slice(at, end + 1)) as string);
    at = end + 1;
  }
  return found;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
