import { readXml, type XmlHandlers } from "./archive.ts";
import { createMathReader, type MathReader } from "./office-math.ts";

type Attributes = Readonly<Record<string, string>>;

/** What a reader of documents and slides does with the elements that are shown. */
export interface OfficeHandlers extends Required<XmlHandlers> {
  /** A formula, on one line. */
  formula(text: string): void;
  /** Whether an element is skipped with all its content. */
  isSkipped?(name: string): boolean;
}

/** Passes on the elements that are shown: of several alternatives for the same content only the first, which has the most detail. */
export function officeHandlers({ open, text, close, formula, isSkipped }: OfficeHandlers): XmlHandlers {
  /** Number of open elements within the skipped one. */
  let skipped = 0;
  /** For each of the open sets of alternatives, whether one was taken. */
  const alternatives: boolean[] = [];
  let math: MathReader | null = null;

  function isOtherWay(name: string): boolean {
    if (name !== "Choice" && name !== "Fallback") return false;
    const isTaken = alternatives.at(-1) ?? false;
    alternatives[alternatives.length - 1] = true;
    return isTaken;
  }

  return {
    open(name, attributes) {
      if (skipped > 0 || isOtherWay(name) || isSkipped?.(name) === true) {
        skipped += 1;
        return;
      }
      if (name === "AlternateContent") alternatives.push(false);
      if (name === "oMath") math ??= createMathReader();
      if (math === null) open(name, attributes);
      else math.open(name, attributes);
    },
    text(part) {
      if (skipped > 0) return;
      if (math === null) text(part);
      else math.text(part);
    },
    close(name) {
      if (skipped > 0) {
        skipped -= 1;
        return;
      }
      if (name === "AlternateContent") alternatives.pop();
      if (math === null) return close(name);
      const written = math.close();
      if (written === null) return;
      math = null;
      formula(written);
    },
  };
}

/**
 * Calls `add` with the text of each element of this name, on one line: the text within its elements that `isText` names, without phonetic
 * readings.
 */
export function readTexts(
  xml: string | null,
  element: string,
  isText: RegExp,
  add: (text: string, attributes: Attributes) => void,
): void {
  let given: Attributes = {};
  let text = "";
  let isShown = false;
  let isPhonetic = false;
  readXml(xml, {
    open(name, attributes) {
      if (name === element) [given, text] = [attributes, ""];
      if (name === "rPh") isPhonetic = true;
      isShown = !isPhonetic && isText.test(name);
    },
    text(part) {
      if (isShown) text += part;
    },
    close(name) {
      isShown = false;
      if (name === "rPh") isPhonetic = false;
      if (name === element) add(onOneLine(text), given);
    },
  });
}

/** Text with each run of blanks and line ends replaced by one blank. */
export function onOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
