import { readXml } from "./archive.ts";

/** What a style means for the text of a paragraph or run. */
export interface WordStyle {
  /** The heading level; null for other paragraphs. */
  readonly level: number | null;
  /** Whether its text is hidden. */
  readonly isHidden: boolean;
}

interface Given {
  name: string;
  parent: string;
  outline: number | null;
  hidden: boolean | null;
}

/** Longest chain of styles based on one another, which ends a cycle. */
const MAX_PARENTS = 20;
const MAX_LEVEL = 9;

/** Whether an on/off element is on. */
export function isOn(value: string | undefined): boolean {
  return value === undefined || !/^(0|false|off|none)$/.test(value);
}

/** The styles of a Word document by their id. */
export function readStyles(xml: string | null): (id: string) => WordStyle {
  const styles = new Map<string, Given>();
  let style: Given | null = null;
  readXml(xml, {
    open(name, attributes) {
      const value = attributes["w:val"];
      if (name === "style") {
        style = { name: "", parent: "", outline: null, hidden: null };
        styles.set(attributes["w:styleId"] ?? "", style);
      }
      if (style === null) return;
      if (name === "name") style.name = value ?? "";
      if (name === "basedOn") style.parent = value ?? "";
      if (name === "outlineLvl") style.outline = Number(value);
      if (name === "vanish") style.hidden = isOn(value);
    },
    close(name) {
      if (name === "style") style = null;
    },
  });
  const known = new Map<string, WordStyle>();
  return (id) => {
    const found = known.get(id) ?? resolve(styles, id);
    known.set(id, found);
    return found;
  };
}

function resolve(styles: ReadonlyMap<string, Given>, id: string): WordStyle {
  let level: number | null = null;
  let hidden: boolean | null = null;
  let at: string = id;
  for (let step = 0; step < MAX_PARENTS && at !== ""; step += 1) {
    const style = styles.get(at);
    // The names of the built-in styles are English in every language, their ids are not.
    const named = /^heading ?([1-9])?$/i.exec(style?.name ?? at);
    level ??= named === null ? headingLevel(style?.outline ?? null) : Number(named[1] ?? 1);
    hidden ??= style?.hidden ?? null;
    at = style?.parent ?? "";
  }
  return { level, isHidden: hidden ?? false };
}

/** The heading level of an outline level, which counts from 0 and is 9 for body text. */
export function headingLevel(outline: number | null): number | null {
  return outline !== null && outline >= 0 && outline < MAX_LEVEL ? outline + 1 : null;
}
