/** Characters of every class that patterns mention. */
const CHARS = [..."aeJ0_-.:/ \"'\\\n\t=+@#<>()[]{},;%?&*!|~^$`", "é", "\u{FFFD}", "Z", "7", "x", "\0"];
const QUANTIFIER = /[*+?]\??|\{(\d+)(,?)(\d*)\}\??/y;
const ESCAPE = /\\(?:u\{[^}]*\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[pP]\{[^}]*\}|k<[^>]*>|[\s\S])/y;
const CLASS = /\[(?:[^\]\\]|\\[\s\S])*\]/y;
const GROUP = /\((?:\?(?::|<[A-Za-z]\w*>|(<?[=!])))?/y;

/**
 * Generates a text that a pattern matches or almost matches, because assertions are ignored. `pick` chooses one of this
 * many possibilities; the same choices give the same text.
 */
export function nearMatch(source: string, flags: string, pick: (among: number) => number): string {
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found) at += found[0].length;
    return found;
  };

  function alternatives(): string {
    const texts = [sequence()];
    while (source[at] === "|") {
      at += 1;
      texts.push(sequence());
    }
    return texts[pick(texts.length)] ?? "";
  }

  function sequence(): string {
    let text = "";
    while (at < source.length && source[at] !== "|" && source[at] !== ")") {
      const one = atom();
      const found = take(QUANTIFIER);
      if (!found) text += one;
      else text += one.repeat(count(found));
    }
    return text;
  }

  function count([text, least, comma, most]: RegExpExecArray): number {
    if (text.startsWith("?")) return pick(2);
    if (text.startsWith("*")) return pick(3);
    if (text.startsWith("+")) return 1 + pick(3);
    const min = Number(least);
    return comma === "" ? min : Math.min(min + pick(3), most === "" ? Infinity : Number(most));
  }

  function atom(): string {
    const group = take(GROUP);
    if (group) {
      const inside = alternatives();
      at += 1;
      return group[1] === undefined ? inside : "";
    }
    const set = take(CLASS) ?? take(ESCAPE);
    if (set) return /^\\[bBk\d]/.test(set[0]) ? "" : oneOf(set[0]);
    const char = String.fromCodePoint(source.codePointAt(at) ?? 0);
    at += char.length;
    if (char === "^" || char === "$") return "";
    return char === "." ? oneOf(char) : char;
  }

  function oneOf(set: string): string {
    const regex = new RegExp(`^${set}$`, flags.replaceAll(/[gy]/g, ""));
    const fitting = CHARS.filter((char) => regex.test(char));
    return fitting[pick(fitting.length)] ?? "";
  }

  return alternatives();
}
