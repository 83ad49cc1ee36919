import { toValueSync, TypeGuards, Value, type Tag, type Template, type Token } from "liquidjs/dist/liquid.browser.mjs";
import { NodeFailure } from "../../../runs/failure.ts";
import { RangeExpression } from "./ranges.ts";

/** What a template's text says of it. */
export interface TemplateAnalysis {
  /** Names looked up in the scope that the template has not set itself before, in order. */
  readonly names: readonly string[];
  /** Ids read as `nodes["id"]` or `nodes.id`. */
  readonly nodeIds: readonly string[];
  /** Whether a name or an id depends on values. */
  readonly isDynamic: boolean;
  /** Whether the work is bounded by the text and the size of the values: no loops and no ranges. */
  readonly isBounded: boolean;
}

const LOOPS: ReadonlySet<string> = new Set(["for", "tablerow"]);
/** Tags within tags; parsing and rendering recurse several frames a level. */
const MAX_NESTING = 64;
/** Members that every object has in Liquid. */
const PSEUDO_MEMBERS: ReadonlySet<string> = new Set(["size", "first", "last"]);

const { isFilteredValueToken, isNumberToken, isPropertyAccessToken, isQuotedToken, isWordToken } = TypeGuards;

const nameOf = (token: Token | undefined): string | undefined => {
  if (isWordToken(token) || isQuotedToken(token)) return token.content;
  return isNumberToken(token) ? String(token.content) : undefined;
};

class Analyst {
  readonly #names = new Set<string>();
  readonly #nodeIds = new Set<string>();
  #isDynamic = false;
  #isBounded = true;
  /** Names the template has set so far; a loop's own are taken off again after it. */
  readonly #set = new Map<string, number>();

  result(): TemplateAnalysis {
    const [names, nodeIds] = [[...this.#names], [...this.#nodeIds]];
    return { names, nodeIds, isDynamic: this.#isDynamic, isBounded: this.#isBounded };
  }

  templates(templates: readonly Template[], depth = 0): void {
    if (depth > MAX_NESTING) {
      throw new NodeFailure("template_failed", `Tags are nested deeper than ${MAX_NESTING} levels`);
    }
    for (const template of templates) {
      if (LOOPS.has((template as Tag).name)) this.#isBounded = false;
      for (const argument of template.arguments?.() ?? []) {
        if (argument instanceof Value) this.#value(argument.initial.postfix, argument.filters);
        else this.#token(argument);
      }
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

  #value(tokens: readonly Token[], filters: ReadonlyArray<{ readonly args: readonly unknown[] }>): void {
    for (const token of tokens) this.#token(token);
    for (const { args } of filters) {
      for (const argument of args) this.#token((Array.isArray(argument) ? argument[1] : argument) as Token | undefined);
    }
  }

  #token(token: Token | undefined): void {
    if (isFilteredValueToken(token)) {
      if (token.initial instanceof RangeExpression) this.#isBounded = false;
      this.#value(token.initial.postfix, token.filters);
    } else if (isPropertyAccessToken(token)) {
      this.#token(token.variable);
      for (const part of token.props) if (!isWordToken(part)) this.#token(part);
      if (token.variable === undefined) this.#lookUp(nameOf(token.props[0]), token.props[1]);
    }
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

/** Walks through a parsed template. Throws NodeFailure where its tags are nested too deeply. */
export const analyse = (templates: readonly Template[]): TemplateAnalysis => {
  const analyst = new Analyst();
  analyst.templates(templates);
  return analyst.result();
};
