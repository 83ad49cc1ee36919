import type { PDFDocumentProxy } from "pdfjs-dist/legacy/build/pdf.mjs";
import { onOneLine } from "./office-xml.ts";

/** The fields of an annotation that are read. */
interface Annotation {
  readonly subtype?: string;
  readonly annotationFlags?: number;
  readonly fieldType?: string;
  readonly fieldName?: string;
  readonly alternativeText?: string;
  readonly fieldValue?: unknown;
  readonly exportValue?: string;
  readonly buttonValue?: string;
  readonly checkBox?: boolean;
  readonly radioButton?: boolean;
  readonly password?: boolean;
  readonly options?: ReadonlyArray<{ readonly exportValue: unknown; readonly displayValue: unknown }>;
  readonly contentsObj?: { readonly str?: string };
}

/** Flags of hidden annotations: Hidden and NoView. */
const UNSHOWN = 0b100010;

/** Text that people added to a page: values of a form, texts, and comments; one per line. */
export async function readNotes(pdf: PDFDocumentProxy, number: number): Promise<string[]> {
  const page = await pdf.getPage(number);
  const annotations = (await page.getAnnotations({ intent: "display" })) as readonly Annotation[];
  const shown = annotations.filter(({ annotationFlags = 0 }) => (annotationFlags & UNSHOWN) === 0);
  return shown.map((each) => onOneLine(lineOf(each))).filter((line) => line !== "");
}

function lineOf(annotation: Annotation): string {
  const { subtype, contentsObj } = annotation;
  if (subtype === "Widget") return fieldLine(annotation);
  const text = contentsObj?.str ?? "";
  if (subtype === "FreeText" || text.trim() === "") return text;
  // A popup repeats the comment that it belongs to.
  return subtype === "Popup" || subtype === "Link" ? "" : `Comment: ${text}`;
}

function fieldLine(field: Annotation): string {
  const { fieldType, fieldName = "", alternativeText = "", fieldValue, options = [] } = field;
  const label = alternativeText || (fieldName.split(".").at(-1) ?? "");
  if (fieldType === "Btn" && field.checkBox === true)
    return `${fieldValue === field.exportValue ? "[x]" : "[ ]"} ${label}`;
  if (fieldType === "Btn")
    return field.radioButton && fieldValue === field.buttonValue ? labelled(label, fieldValue) : "";
  if (fieldType === "Tx") return field.password === true ? "" : labelled(label, fieldValue);
  if (fieldType !== "Ch") return "";
  const chosen = (Array.isArray(fieldValue) ? fieldValue : [fieldValue]) as unknown[];
  const shown = chosen.map((value) => options.find((each) => each.exportValue === value)?.displayValue ?? value);
  return labelled(label, shown.filter((each) => typeof each === "string").join(", "));
}

function labelled(label: string, value: unknown): string {
  if (typeof value !== "string" || value.trim() === "") return "";
  return label === "" ? value : `${label}: ${value}`;
}
