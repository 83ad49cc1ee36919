import { Liquid, Tag } from "liquidjs/dist/liquid.browser.mjs";
import { addFilters } from "./filters.ts";
import { textOf } from "./text.ts";

/** Longest template, characters. */
export const MAX_TEMPLATE_CHARS = 1024 * 1024;
/** How much one rendering may allocate, in the engine's units: characters of text and elements of lists, summed over all filters. */
const MAX_ALLOCATED = 64 * 1024 * 1024;

/** Tags that load other templates. They are removed, because templates must not read files. */
const LOADING_TAGS = ["include", "render", "layout", "block"];

/** `{% # remark %}`. Replaces the engine's tag, which checks remarks with a regular expression that takes quadratic time. */
class RemarkTag extends Tag {
  override render(): void {}
}

/** A Liquid engine whose templates can read only the values passed to it. */
export function createLiquid(): Liquid {
  const liquid = new Liquid({
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: false,
    outputEscape: textOf,
    parseLimit: MAX_TEMPLATE_CHARS,
    memoryLimit: MAX_ALLOCATED,
    // A workflow must not depend on the clock; elsewhere the rendering process has a time limit.
    renderLimit: Number.POSITIVE_INFINITY,
    // Without this, the engine uses the machine's locale.
    locale: "en-US",
    timezoneOffset: 0,
  });
  for (const tag of LOADING_TAGS) delete liquid.tags[tag];
  liquid.registerTag("#", RemarkTag);
  addFilters(liquid);
  return liquid;
}
