import { Context } from "liquidjs/dist/liquid.browser.mjs";
import { charsOf } from "../cel/chars.ts";

/** A template's context, in which `text.size` counts characters as the `size` filter does. */
export class TemplateContext extends Context {
  /** The number of the rules by which the template is rendered (see ../rules.ts). */
  readonly rules: number;

  constructor(rules: number, ...context: ConstructorParameters<typeof Context>) {
    super(...context);
    this.rules = rules;
  }

  override readProperty(...[object, key]: Parameters<Context["readProperty"]>): unknown {
    return key === "size" && typeof object === "string" ? charsOf(object).length : super.readProperty(object, key);
  }
}
