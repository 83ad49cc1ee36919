import { hex } from "dingbat-to-unicode";
import type { XmlHandlers } from "./archive.ts";
import { CHECKED, Fields, UNCHECKED } from "./docx-fields.ts";
import { headingLevel, isOn, type WordStyle } from "./docx-styles.ts";
import { createTableReader } from "./docx-table.ts";
import { takeDrawing } from "./office-drawings.ts";
import { officeHandlers, onOneLine } from "./office-xml.ts";

/** What the reader of one part of a Word document needs from other parts. */
export interface WordContext {
  readonly style: (id: string) => WordStyle;
  /** Texts of footnotes, endnotes and comments, keyed like "footnote 3". Each is written where it is first referenced. */
  readonly notes: Map<string, string>;
  /** Text of charts and diagrams, by the ID of their relationship. */
  readonly drawings: Map<string, string[]>;
}

/** Called with a paragraph outside tables, or a row of a table; headings have a level. */
export type AddText = (text: string, level: number | null) => void;
export type AddNote = (key: string, text: string) => void;

/** Elements whose content is not shown: deleted text, and properties from before a change. */
const UNSHOWN = /^(del|moveFrom|\w+Change)$/;
const NOTE = /^(footnote|endnote|comment)$/;

interface Paragraph {
  text: string;
  style: string;
  outline: number | null;
  /** Whether the paragraph's end was deleted, so that the next paragraph continues it. */
  isJoined: boolean;
  /** Readings (ruby text) of the preceding characters; they are written after the last of these. */
  readings: string;
}

interface Run {
  style: string;
  hidden: boolean | null;
}

/** A check box that a person can tick (`w14:checkbox`): its state replaces the character that shows it. */
interface Control {
  isBox: boolean;
  checked: boolean;
  isShown: boolean;
}

/**
 * Reads one part of a Word document, whatever it contains. `add` is called with each paragraph outside tables and each row of a table,
 * `addNote` with each note of a part that has notes.
 */
export function createStoryReader(
  { style, notes, drawings }: WordContext,
  add: AddText,
  addNote: AddNote = () => undefined,
): XmlHandlers {
  const open: string[] = [];
  const paragraphs: Paragraph[] = [];
  const runs: Run[] = [];
  const controls: Control[] = [];
  /** Content that follows the paragraph or table being read: its text boxes, notes and drawings. */
  const behind: string[] = [];
  const fields = new Fields();
  let boxes = 0;
  let carried = "";
  let note: { key: string; readonly texts: string[]; readonly author: string } | null = null;
  let counter = 0;
  /** Whether text is the reading of characters (ruby text), or the characters themselves. */
  let isReading = false;
  let isBase = false;

  const tables = createTableReader((line) => addBlock(line, null));

  function addBlock(text: string, level: number | null): void {
    if (note !== null) note.texts.push(text);
    else if (boxes > 0) behind.push(text);
    else {
      if (text !== "") add(text, level);
      for (const each of behind.splice(0)) add(each, null);
    }
  }

  function write(text: string): void {
    const paragraph = paragraphs.at(-1);
    if (paragraph === undefined || text === "") return;
    if (isReading) paragraph.readings += text;
    else {
      if (!isBase) endReadings(paragraph);
      paragraph.text += text;
    }
  }

  function isHidden(): boolean {
    const run = runs.at(-1);
    return run?.hidden ?? (style(run?.style ?? "").isHidden || style(paragraphs.at(-1)?.style ?? "").isHidden);
  }

  /** Writes text as it is shown, unless it is hidden or stands for a check box. */
  function show(text: string): void {
    if (isHidden() || fields.isInstruction) return;
    const control = controls.findLast(({ isBox }) => isBox);
    if (control === undefined) write(text);
    else if (!control.isShown) {
      control.isShown = true;
      write(control.checked ? CHECKED : UNCHECKED);
    }
  }

  function refer(key: string): void {
    const text = notes.get(key);
    if (text === undefined) return;
    notes.delete(key);
    if (key.startsWith("comment")) behind.push(text);
    else {
      counter += 1;
      write(`[${counter}]`);
      behind.push(`[${counter}] ${text}`);
    }
  }

  function endParagraph(): void {
    const paragraph = paragraphs.pop();
    if (paragraph === undefined) return;
    endReadings(paragraph);
    if (paragraph.isJoined) {
      carried = paragraph.text;
      return;
    }
    const level = paragraph.outline === null ? style(paragraph.style).level : headingLevel(paragraph.outline);
    const lines = paragraph.text.split("\n").map(onOneLine);
    const text = lines.filter((line) => line !== "").join(level === null && !tables.isInCell ? "\n" : " ");
    if (tables.isInCell) tables.add(text);
    else if (text !== "" || behind.length > 0) addBlock(text, level);
  }

  function openElement(name: string, attributes: Readonly<Record<string, string>>): void {
    const parent = open.at(-2) ?? "";
    const value = attributes["w:val"];
    const paragraph = paragraphs.at(-1);
    const run = runs.at(-1);
    tables.open(name, attributes, parent);
    switch (name) {
      case "p":
        paragraphs.push({ text: carried, style: "", outline: null, isJoined: false, readings: "" });
        carried = "";
        break;
      case "pStyle":
        if (paragraph !== undefined) paragraph.style = value ?? "";
        break;
      case "outlineLvl":
        if (paragraph !== undefined) paragraph.outline = Number(value);
        break;
      case "r":
        runs.push({ style: "", hidden: null });
        break;
      case "rStyle":
        if (run !== undefined && open.at(-3) === "r") run.style = value ?? "";
        break;
      case "vanish":
        if (run !== undefined && open.at(-3) === "r") run.hidden = isOn(value);
        break;
      case "tab":
        if (parent === "r") show(" ");
        break;
      case "br":
      case "cr":
        show(attributes["w:type"] === "page" || attributes["w:type"] === "column" ? " " : "\n");
        break;
      case "noBreakHyphen":
        show("\u2011");
        break;
      case "sym":
        show(symbolOf(attributes["w:font"] ?? "", attributes["w:char"] ?? ""));
        break;
      case "rt":
        isReading = true;
        break;
      case "rubyBase":
        isBase = true;
        break;
      case "sdt":
        controls.push({ isBox: false, checked: false, isShown: false });
        break;
      case "checkbox":
      case "checked": {
        const control = controls.at(-1);
        if (control === undefined) break;
        if (name === "checkbox" && parent === "sdtPr") control.isBox = true;
        if (name === "checked" && parent === "checkbox")
          control.checked = isOn(Object.entries(attributes).find(([key]) => key.endsWith(":val"))?.[1]);
        break;
      }
      case "docPr":
      case "shape":
        showAlternative(attributes["descr"] ?? attributes["alt"] ?? "", attributes["hidden"]);
        break;
      case "chart":
      case "relIds":
        if (!isHidden()) behind.push(...takeDrawing(drawings, name, attributes));
        break;
      case "txbxContent":
        boxes += 1;
        break;
      case "footnoteReference":
      case "endnoteReference":
      case "commentReference":
        refer(`${name.replace("Reference", "")} ${attributes["w:id"] ?? ""}`);
        break;
      default:
        if (NOTE.test(name)) {
          note = { key: `${name} ${attributes["w:id"] ?? ""}`, texts: [], author: attributes["w:author"] ?? "" };
        }
    }
    const shown = fields.open(name, attributes, isOn);
    if (shown !== "") show(shown);
  }

  /** Uses a picture's description as its text. */
  function showAlternative(description: string, hidden: string | undefined): void {
    if (description.trim() !== "" && !(hidden !== undefined && isOn(hidden))) show(` ${description} `);
  }

  function closeElement(name: string): void {
    switch (name) {
      case "p":
        endParagraph();
        break;
      case "r":
        runs.pop();
        break;
      case "rt":
        isReading = false;
        break;
      case "rubyBase":
        isBase = false;
        break;
      case "sdt": {
        const control = controls.pop();
        if (control?.isBox === true && !control.isShown) write(control.checked ? CHECKED : UNCHECKED);
        break;
      }
      case "txbxContent":
        boxes -= 1;
        break;
      default:
        if (note !== null && NOTE.test(name)) {
          const text = [...note.texts, ...behind.splice(0)].join(" ").trim();
          const of = name === "comment" ? `Comment${note.author === "" ? "" : ` (${onOneLine(note.author)})`}: ` : "";
          if (text !== "") addNote(note.key, of + text);
          note = null;
        }
    }
    tables.close(name);
  }

  /** Whether an element is skipped with all its content. */
  function isSkipped(name: string): boolean {
    const parent = open.at(-1) ?? "";
    if (name === "del" && parent === "rPr" && open.at(-2) === "pPr") {
      const paragraph = paragraphs.at(-1);
      if (paragraph !== undefined) paragraph.isJoined = true;
      return true;
    }
    if (name === "del" && parent === "trPr") return false;
    return UNSHOWN.test(name);
  }

  return officeHandlers({
    open(name, attributes) {
      open.push(name);
      openElement(name, attributes);
    },
    text(text) {
      if (open.at(-1) === "t") show(text);
    },
    close(name) {
      closeElement(name);
      open.pop();
      if (open.length === 0) addBlock(onOneLine(carried), null);
    },
    formula: show,
    isSkipped,
  });
}

/** The Unicode character that looks like a character of a symbol font such as Wingdings; "" if there is none. */
function symbolOf(font: string, code: string): string {
  // Word maps the codes of such fonts to a private use area.
  return (hex(font, code) ?? hex(font, code.replace(/^F0/i, "")))?.string ?? "";
}

function endReadings(paragraph: Paragraph): void {
  if (paragraph.readings !== "") paragraph.text += `(${paragraph.readings})`;
  paragraph.readings = "";
}
