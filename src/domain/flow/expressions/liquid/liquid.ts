import { LiquidError, type Template } from "liquidjs/dist/liquid.browser.mjs";
import { NodeFailure } from "../../../runs/failure.ts";
import { MAX_VALUE_BYTES } from "../../../json.ts";
import { cachedByText, CHARS_PER_MARK } from "../cache.ts";
import { isLongerThan } from "../json-size.ts";
import { analyse, type TemplateAnalysis } from "./analysis.ts";
import { TemplateContext } from "./context.ts";
import { createLiquid, MAX_TEMPLATE_CHARS } from "./engine.ts";
import type { ReadPath, Reads, Scope } from "../../scope.ts";

/** What is known about a template before rendering, or why it is invalid. */
export type CheckedTemplate =
  | {
      readonly ok: true;
      /** IDs of the nodes and other names that the template reads; "*" if they depend on values. */
      readonly reads: Reads;
    }
  | { readonly ok: false; readonly message: string };

/** How to write double braces that are not part of the template, for a prompt that shows JSON or code. */
export const BRACES_AS_TEXT = "To write double braces as text, put {% raw %} before them and {% endraw %} after them";

interface Parsed {
  readonly templates: Template[];
  readonly analysis: TemplateAnalysis;
}

/** Most tags and outputs of one template. */
const MAX_MARKS = 10_000;
const RESERVED = ["nodes", "inputs", "item", "index", "last", "run"] as const;
const RESERVED_NAMES: ReadonlySet<string> = new Set(RESERVED);

const liquid = createLiquid();

/** The innermost reason of an engine error, with its position in the template. */
const reasonOf = (error: unknown): NodeFailure => {
  let reason = error;
  let place = "";
  while (LiquidError.is(reason)) {
    const [line, column] = reason.token.getPosition();
    place ||= ` (line ${line}, column ${column})`;
    if (reason.originalError === undefined) break;
    reason = reason.originalError;
  }
  if (reason instanceof NodeFailure) return reason;
  if (reason instanceof RangeError)
    return new NodeFailure("template_failed", `The template is too long or nested too deeply${place}`);
  // The engine appends the position to its own messages in another format, so it is removed.
  const message =
    reason instanceof Error ? reason.message.replace(/, line:\d+, col:\d+$/, "") : "the template cannot be rendered";
  return new NodeFailure("template_failed", `${message}${place}`, { cause: error });
};

const marksOf = (source: string): number => source.split(/\{[{%]/, MAX_MARKS + 2).length - 1;

const parse = (source: string): Parsed | { readonly message: string } => {
  if (source.length > MAX_TEMPLATE_CHARS) {
    return { message: `A template can have at most ${MAX_TEMPLATE_CHARS} characters` };
  }
  if (marksOf(source) > MAX_MARKS) {
    return { message: `A template can have at most ${MAX_MARKS} tags and outputs` };
  }
  try {
    const templates = liquid.parse(source);
    return { templates, analysis: analyse(templates) };
  } catch (error) {
    return { message: reasonOf(error).message };
  }
};

const parseCached = cachedByText(parse, (text) => text.length + marksOf(text) * CHARS_PER_MARK);

/**
 * Parses a template and checks everything that its text alone determines: syntax, size, and unknown tags and filters (`include` and similar
 * tags are unknown). An unknown name is not an error, because it may be a node's; it renders as empty.
 */
export const checkTemplate = (source: string): CheckedTemplate => {
  const parsed = parseCached(source);
  if ("message" in parsed) return { ok: false, message: parsed.message };
  const { names, nodeIds, isDynamic, longNumber } = parsed.analysis;
  if (longNumber !== undefined) return { ok: false, message: losesDigits(longNumber) };
  const read = new Set([...nodeIds, ...names.filter((name) => !RESERVED_NAMES.has(name))]);
  return { ok: true, reads: isDynamic ? "*" : [...read] };
};

/** The paths that a template reads; empty for an invalid template. */
export const templateReadPaths = (source: string): readonly ReadPath[] => {
  const parsed = parseCached(source);
  return "message" in parsed ? [] : parsed.analysis.paths;
};

const losesDigits = (number: string): string => {
  const short = number.slice(0, 40);
  return `The number ${short} would lose digits: write it as text, "${short}"; filters can compute with it`;
};

/** Whether rendering a template may look up a time zone by name. */
export const templateAsksForZone = (source: string): boolean => {
  const parsed = parseCached(source);
  return !("message" in parsed) && parsed.analysis.asksForZone;
};

/** Upper bound on how often rendering reads the template's values; infinite if its text sets no bound. */
export const templateWeight = (source: string): number => {
  const parsed = parseCached(source);
  // Rendering an invalid template fails immediately, so it costs nothing.
  return "message" in parsed ? 0 : parsed.analysis.weight;
};

/** The variables of a template, without a prototype: each node under its ID, and the reserved names, which take precedence over IDs. */
const variables = (scope: Scope, { names, isDynamic }: TemplateAnalysis): Record<string, unknown> => {
  const seen = Object.create(null) as Record<string, unknown>;
  for (const name of isDynamic ? Object.keys(scope.nodes) : names) {
    if (Object.hasOwn(scope.nodes, name)) seen[name] = scope.nodes[name];
  }
  for (const name of RESERVED) seen[name] = scope[name];
  return seen;
};

/**
 * Renders a template. Values are data and are never rendered as templates. Text is written as it is, null and missing values as nothing, an
 * object with a string field `text` as that, other values as JSON. Throws NodeFailure: "template_failed" with reason and position, or
 * "value_too_large" if the result is longer than 25 MiB. `rules`: in a workflow, the rules of the plan.
 */
export const renderTemplate = (source: string, scope: Scope, rules = Number.POSITIVE_INFINITY): string => {
  const parsed = parseCached(source);
  if ("message" in parsed) throw new NodeFailure("template_failed", `Not a valid template: ${parsed.message}`);
  const { longNumber } = parsed.analysis;
  if (longNumber !== undefined && rules >= 3) throw new NodeFailure("template_failed", losesDigits(longNumber));
  const seen = variables(scope, parsed.analysis);
  const context = new TemplateContext(rules, seen, liquid.options, { sync: true }, { liquid });
  let text: string;
  try {
    text = liquid.renderSync(parsed.templates, context) as string;
  } catch (error) {
    throw reasonOf(error);
  }
  if (isLongerThan(text, MAX_VALUE_BYTES)) {
    throw new NodeFailure("value_too_large", `The text is longer than ${MAX_VALUE_BYTES / 1024 / 1024} MiB`);
  }
  return text;
};
