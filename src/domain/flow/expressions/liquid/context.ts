import { Context } from "liquidjs/dist/liquid.browser.mjs";
import { chars } from "./chars.ts";

/** What a template sees, where `text.size` counts characters as the filter does. */
export class TemplateContext extends Context {
  override readProperty(...[object, key]: Parameters<Context["readProperty"]>): unknown {
    return key === "size" && typeof object === "string" ? chars(object).length : super.readProperty(object, key);
  }
}
