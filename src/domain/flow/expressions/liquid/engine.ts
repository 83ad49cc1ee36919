import { Liquid, Tag } from "liquidjs/dist/liquid.browser.mjs";
import { addFilters } from "./filters.ts";
import { textOf } from "./text.ts";

/** Longest template, characters. */
export const MAX_TEMPLATE_CHARS = 1024 * 1024;
/** How much one rendering may allocate, as the engine counts it: characters of text and elements of lists, over all filters. */
const MAX_ALLOCATED = 64 * 1024 * 1024;

/** Tags that load other templates; removed, as templates must not reach a file system. */
const LOADING_TAGS = ["include", "render", "layout", "block"];

/** `{% # remark %}`; the engine's own is checked by a regular expression that takes quadratic time, also in a workflow. */
class RemarkTag extends Tag {
  override render(): void {}
}

/** A Liquid engine that can access only the values passed to it. */
export function createLiquid(): Liquid {
  const liquid = new Liquid({
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: false,
    outputEscape: textOf,
    parseLimit: MAX_TEMPLATE_CHARS,
    memoryLimit: MAX_ALLOCATED,
    // A workflow must not decide by the clock; elsewhere the rendering process has a time limit.
    renderLimit: Number.POSITIVE_INFINITY,
    // Without it the engine uses the machine's setting.
    locale: "en-US",
    timezoneOffset: 0,
  });
  for (const tag of LOADING_TAGS) delete liquid.tags[tag];
  liquid.registerTag("#", RemarkTag);
  addFilters(liquid);
  return liquid;
}
