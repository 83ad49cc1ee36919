/** Symbols for checked and unchecked form boxes. */
export const CHECKED = "[x]";
export const UNCHECKED = "[ ]";

type Attributes = Readonly<Record<string, string>>;

interface Field {
  /** Whether the field's instruction is being read, and not yet its result. */
  isInstruction: boolean;
  /** Value of a legacy check box. */
  box: { checked: boolean | null; preset: boolean } | null;
  /** Value of a legacy drop-down list. */
  list: { entries: string[]; chosen: number } | null;
}

/** The nested fields of a text (`w:fldChar`). */
export class Fields {
  readonly #open: Field[] = [];

  /** Whether text here is the instruction of a field, such as PAGE or SEQ, which is not shown. */
  get isInstruction(): boolean {
    return this.#open.some((field) => field.isInstruction);
  }

  /** Handles an element of a field; returns the text of a check box or list when it ends. */
  open(name: string, attributes: Attributes, isOn: (value: string | undefined) => boolean): string {
    const field = this.#open.at(-1);
    const value = attributes["w:val"];
    if (name === "fldChar") return this.#character(attributes["w:fldCharType"]);
    if (field === undefined) return "";
    if (name === "checkBox") field.box = { checked: null, preset: false };
    if (name === "ddList") field.list = { entries: [], chosen: 0 };
    if (name === "checked" && field.box !== null) field.box.checked = isOn(value);
    if (name === "default" && field.box !== null) field.box.preset = isOn(value);
    if ((name === "default" || name === "result") && field.list !== null) field.list.chosen = Number(value);
    if (name === "listEntry") field.list?.entries.push(value ?? "");
    return "";
  }

  #character(type: string | undefined): string {
    const field = this.#open.at(-1);
    if (type === "begin") this.#open.push({ isInstruction: true, box: null, list: null });
    if (type === "separate" && field !== undefined) field.isInstruction = false;
    if (type !== "end" || field === undefined) return "";
    this.#open.pop();
    if (field.box !== null) return (field.box.checked ?? field.box.preset) ? CHECKED : UNCHECKED;
    return field.list?.entries[field.list.chosen] ?? "";
  }
}
