import { LiquidError, type Template } from "liquidjs/dist/liquid.browser.mjs";
import { NodeFailure } from "../../../runs/failure.ts";
import { MAX_VALUE_BYTES } from "../../../json.ts";
import { cachedByText, CHARS_PER_MARK } from "../cache.ts";
import { isLongerThan } from "../json-size.ts";
import { analyse, type TemplateAnalysis } from "./analysis.ts";
import { TemplateContext } from "./context.ts";
import { createLiquid, MAX_TEMPLATE_CHARS } from "./engine.ts";
import type { Reads, Scope } from "../../scope.ts";

/** What is known about a template before it is rendered, or why it is invalid. */
export type CheckedTemplate =
  | {
      readonly ok: true;
      /** Ids of the nodes it reads, and other names it looks up; "*" if they depend on values. */
      readonly reads: Reads;
    }
  | { readonly ok: false; readonly message: string };

interface Parsed {
  readonly templates: Template[];
  readonly analysis: TemplateAnalysis;
}

/** Tags and outputs of one template. */
const MAX_MARKS = 10_000;
const RESERVED = ["nodes", "inputs", "item", "index", "last", "run"] as const;
const RESERVED_NAMES: ReadonlySet<string> = new Set(RESERVED);

const liquid = createLiquid();

/** The innermost reason of an error of the engine, and where in the template it is. */
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
    return new NodeFailure("template_failed", `It is too long or nested too deeply${place}`);
  // The engine appends the place to the messages of its own errors, in its own spelling.
  const message =
    reason instanceof Error ? reason.message.replace(/, line:\d+, col:\d+$/, "") : "it cannot be rendered";
  return new NodeFailure("template_failed", `${message}${place}`, { cause: error });
};

const marksOf = (source: string): number => source.split(/\{[{%]/, MAX_MARKS + 2).length - 1;

const parse = (source: string): Parsed | { readonly message: string } => {
  if (source.length > MAX_TEMPLATE_CHARS) {
    return { message: `A template has at most ${MAX_TEMPLATE_CHARS} characters` };
  }
  if (marksOf(source) > MAX_MARKS) {
    return { message: `A template has at most ${MAX_MARKS} tags and outputs` };
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
 * Parses a template and checks everything that its text alone determines: syntax, size, tags and filters that do not exist
 * (`include` and its kin do not). A name that the template reads may be that of a node or of nothing; unknown names
 * render empty.
 */
export const checkTemplate = (source: string): CheckedTemplate => {
  const parsed = parseCached(source);
  if ("message" in parsed) return { ok: false, message: parsed.message };
  const { names, nodeIds, isDynamic } = parsed.analysis;
  const read = new Set([...nodeIds, ...names.filter((name) => !RESERVED_NAMES.has(name))]);
  return { ok: true, reads: isDynamic ? "*" : [...read] };
};

/** How often rendering a template reads its values at most; infinite if its text sets no such bound. */
export const templateWeight = (source: string): number => {
  const parsed = parseCached(source);
  // Rendering an invalid template fails at once.
  return "message" in parsed ? 0 : parsed.analysis.weight;
};

/** What the template sees, without a prototype: each node under its id, and the reserved names, which win over ids. */
const variables = (scope: Scope, { names, isDynamic }: TemplateAnalysis): Record<string, unknown> => {
  const seen = Object.create(null) as Record<string, unknown>;
  for (const name of isDynamic ? Object.keys(scope.nodes) : names) {
    if (Object.hasOwn(scope.nodes, name)) seen[name] = scope.nodes[name];
  }
  for (const name of RESERVED) seen[name] = scope[name];
  return seen;
};

/**
 * Renders a template. Values are data: what they contain is never rendered again. Text is written as it is, null and
 * what does not exist as nothing, an object with a text member `text` as that, other values as JSON. Throws NodeFailure:
 * "template_failed" with the reason and the place, or "value_too_large" where the text is longer than 25 MiB.
 */
export const renderTemplate = (source: string, scope: Scope): string => {
  const parsed = parseCached(source);
  if ("message" in parsed) throw new NodeFailure("template_failed", `Not a valid template: ${parsed.message}`);
  const context = new TemplateContext(variables(scope, parsed.analysis), liquid.options, { sync: true }, { liquid });
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
