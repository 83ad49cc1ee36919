import { toValueSync, TypeGuards, Value, type Tag, type Template, type Token } from "liquidjs/dist/liquid.browser.mjs";
import { isLongNumber } from "../../../exact-json.ts";
import { NodeFailure } from "../../../runs/failure.ts";
import type { ReadPath } from "../../scope.ts";
import { isFixedZone } from "../cel/time.ts";

/** The result of a template's static analysis. */
export interface TemplateAnalysis {
  /** Names that the template reads from the scope before it has set them itself, in order. */
  readonly names: readonly string[];
  /** IDs of nodes read as `nodes["id"]` or `nodes.id`. */
  readonly nodeIds: readonly string[];
  /** The paths that the template reads, each as far as its text determines it. */
  readonly paths: readonly ReadPath[];
  /** Whether a name or an id depends on values. */
  readonly isDynamic: boolean;
  /** Upper bound on how often rendering reads the values; infinite if the text sets no bound, as with loops. */
  readonly weight: number;
  /** Whether rendering may look up a time zone by name, which depends on the machine's tables. */
  readonly asksForZone: boolean;
  /** A number in the template that the engine would round, as written. */
  readonly longNumber: string | undefined;
}

/** Tags that run once and write no more than they read. */
const CHEAP_TAGS: ReadonlySet<string> = new Set(
  "assign case comment decrement echo elsif else if increment liquid raw unless #".split(" "),
);
/** Filters that take linear time and return no more than they receive. */
const CHEAP_FILTERS: ReadonlySet<string> = new Set(
  [
    "abs at_least at_most capitalize ceil compact date default divided_by downcase first floor last lstrip minus modulo",
    "number_of_words plus raw reverse round rstrip size slice squish strip strip_html strip_newlines times to_integer",
    "truncate truncatewords upcase",
  ]
    .join(" ")
    .split(" "),
);
/** The engine's name for the function that converts output to text. */
const OUTPUT_ESCAPE = "[object Function]";
/** Filters whose result may be a few times as long as their input. One is cheap, a chain of them is not. */
const GROWING_FILTERS: ReadonlySet<string> = new Set(
  "append cgi_escape escape json jsonify newline_to_br prepend split uri_escape url_encode xml_escape".split(" "),
);
const GROWING_WEIGHT = 6;
/** Searching one text in another can take longer than reading both. */
const SEARCH_WEIGHT = 8;
/** Levels of nested tags; parsing and rendering recurse several times per level. */
const MAX_NESTING = 64;
/** Properties that every object has in Liquid. */
const PSEUDO_MEMBERS: ReadonlySet<string> = new Set(["size", "first", "last"]);

const {
  isFilteredValueToken,
  isNumberToken,
  isOperatorToken,
  isPropertyAccessToken,
  isRangeToken,
  isQuotedToken,
  isWordToken,
} = TypeGuards;

const nameOf = (token: Token | undefined): string | undefined => {
  if (isWordToken(token) || isQuotedToken(token)) return token.content;
  return isNumberToken(token) ? String(token.content) : undefined;
};

/** Whether the zone's offset is the same on every machine. */
const isFixed = (token: Token): boolean => isNumberToken(token) || (isQuotedToken(token) && isFixedZone(token.content));

class Analyst {
  readonly #names = new Set<string>();
  readonly #nodeIds = new Set<string>();
  readonly #paths = new Map<string, ReadPath>();
  #isDynamic = false;
  #weight = 0;
  #asksForZone = false;
  #longNumber: string | undefined;
  /** Number of growing filters in the tag or output that is being analysed. */
  #growing = 0;
  /** Names that the template has set so far, with counts; names local to a block are removed at its end. */
  readonly #set = new Map<string, number>();

  result(): TemplateAnalysis {
    const [names, nodeIds] = [[...this.#names], [...this.#nodeIds]];
    return {
      names,
      nodeIds,
      paths: [...this.#paths.values()],
      isDynamic: this.#isDynamic,
      weight: this.#weight,
      asksForZone: this.#asksForZone,
      longNumber: this.#longNumber,
    };
  }

  templates(templates: readonly Template[], depth = 0): void {
    if (depth > MAX_NESTING) {
      throw new NodeFailure("template_failed", `Tags are nested deeper than ${MAX_NESTING} levels`);
    }
    for (const template of templates) {
      const { name } = template as Partial<Tag>;
      if (name !== undefined && !CHEAP_TAGS.has(name)) this.#weight = Number.POSITIVE_INFINITY;
      this.#weight += 1;
      this.#growing = 0;
      for (const argument of template.arguments?.() ?? []) {
        if (argument instanceof Value) this.#value(argument.initial.postfix, argument.filters);
        else this.#token(argument);
      }
      // An assigned variable can grow again with each assignment, so there even one growing filter has no bound.
      if (this.#growing > (name === "assign" ? 0 : 1)) this.#weight = Number.POSITIVE_INFINITY;
      for (const name of template.localScope?.() ?? []) this.#change(name.content, 1);
      const own = [...(template.blockScope?.() ?? [])];
      for (const name of own) this.#change(name, 1);
      const children = template.children?.(false, true);
      if (children !== undefined) this.templates(toValueSync<Template[]>(children), depth + 1);
      for (const name of own) this.#change(name, -1);
    }
  }

  #change(name: string, by: number): void {
    this.#set.set(name, (this.#set.get(name) ?? 0) + by);
  }

  #value(
    tokens: readonly Token[],
    filters: ReadonlyArray<{ readonly name: string; readonly args: readonly unknown[] }>,
  ): void {
    for (const token of tokens) this.#token(token);
    for (const { name, args } of filters) {
      this.#filter(name, args.length);
      const zone = name === "date" ? (args[1] as Token | undefined) : undefined;
      if (zone !== undefined && !isFixed(zone)) this.#asksForZone = true;
      for (const argument of args) this.#token((Array.isArray(argument) ? argument[1] : argument) as Token | undefined);
    }
  }

  #filter(name: string, args: number): void {
    if (CHEAP_FILTERS.has(name) || name === OUTPUT_ESCAPE) this.#weight += 1;
    else if (GROWING_FILTERS.has(name) && (args === 0 || !name.startsWith("json"))) {
      this.#growing += 1;
      this.#weight += GROWING_WEIGHT;
    } else this.#weight = Number.POSITIVE_INFINITY;
  }

  #token(token: Token | undefined): void {
    if (isNumberToken(token) && isLongNumber(token.getText().replace("+", ""))) this.#longNumber ??= token.getText();
    if (isOperatorToken(token)) this.#weight += token.operator === "contains" ? SEARCH_WEIGHT : 1;
    if (isRangeToken(token)) {
      this.#weight = Number.POSITIVE_INFINITY;
      this.#token(token.lhs);
      this.#token(token.rhs);
    } else if (isFilteredValueToken(token)) {
      this.#value(token.initial.postfix, token.filters);
    } else if (isPropertyAccessToken(token)) {
      this.#token(token.variable);
      for (const part of token.props) if (!isWordToken(part)) this.#token(part);
      if (token.variable === undefined) {
        const keys = token.props.map(nameOf);
        this.#note(keys.slice(0, keys.includes(undefined) ? keys.indexOf(undefined) : keys.length) as string[]);
        this.#lookUp(keys[0], token.props[1]);
      }
    }
  }

  #note(path: readonly string[]): void {
    if (path.length > 1 && (this.#set.get(path[0] ?? "") ?? 0) === 0) this.#paths.set(JSON.stringify(path), path);
  }

  #lookUp(name: string | undefined, member: Token | undefined): void {
    if (name === undefined) this.#isDynamic = true;
    else if ((this.#set.get(name) ?? 0) > 0) return;
    else if (name !== "nodes") this.#names.add(name);
    else {
      const id = nameOf(member);
      if (id === undefined || (isWordToken(member) && PSEUDO_MEMBERS.has(id))) this.#isDynamic = true;
      else this.#nodeIds.add(id);
    }
  }
}

/** Walks through a parsed template. Throws NodeFailure if its tags are nested too deeply. */
export const analyse = (templates: readonly Template[]): TemplateAnalysis => {
  const analyst = new Analyst();
  analyst.templates(templates);
  return analyst.result();
};
