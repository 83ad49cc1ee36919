import { Liquid } from "liquidjs/dist/liquid.browser.mjs";
import { FILTERS } from "./filters.ts";
import {
  MeteredCapture,
  MeteredCase,
  MeteredCycle,
  MeteredFor,
  MeteredTablerow,
  OPERATORS,
  RemarkTag,
} from "./operators.ts";
import { limitRanges } from "./ranges.ts";

/** Tags that load or extend other templates: there are none, and nothing must ever look for them in a file system. */
const LOADING_TAGS = ["include", "render", "layout", "block"];

/** A Liquid that reaches nothing but the values it is given, and takes all it does from a budget. */
export const createLiquid = (): Liquid => {
  limitRanges();
  const liquid = new Liquid({
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: false,
    operators: OPERATORS,
    // Left out, the engine asks the machine.
    locale: "en-US",
    timezoneOffset: 0,
  });
  for (const tag of LOADING_TAGS) delete liquid.tags[tag];
  for (const name of Object.keys(liquid.filters)) delete liquid.filters[name];
  for (const [name, filter] of FILTERS) liquid.registerFilter(name, filter);
  liquid.registerTag("case", MeteredCase);
  liquid.registerTag("capture", MeteredCapture);
  liquid.registerTag("cycle", MeteredCycle);
  liquid.registerTag("for", MeteredFor);
  liquid.registerTag("tablerow", MeteredTablerow);
  liquid.registerTag("#", RemarkTag);
  return liquid;
};
