import { Fragment, jsx as make, jsxs as makeSeveral } from "react/jsx-runtime";
import type { ElementType, Key, ReactElement } from "react";
import { showMarks } from "../../src/domain/marks.ts";

/**
 * Creates every element of the console (scripts/build-web.mjs), so that no text can miss it: visible text shows
 * characters of direction and of zero width as signs. Typed, copied and sent text is not changed.
 */
export function jsx(type: ElementType, props: Props, key?: Key): ReactElement {
  return make(type, shown(props), key);
}

export function jsxs(type: ElementType, props: Props, key?: Key): ReactElement {
  return makeSeveral(type, shown(props), key);
}

export { Fragment };

type Props = Readonly<Record<string, unknown>>;
/** Attributes that screen readers announce or that are shown on hover. */
const READ = ["title", "aria-label", "placeholder"] as const;

function shown(props: Props): Props {
  const changed: Record<string, unknown> = {};
  for (const name of READ) {
    const text = props[name];
    if (typeof text === "string" && showMarks(text) !== text) changed[name] = showMarks(text);
  }
  const children = shownChild(props["children"]);
  if (children !== props["children"]) changed["children"] = children;
  return Object.keys(changed).length === 0 ? props : { ...props, ...changed };
}

/** The child with its text marked, or the same child if there is nothing to mark. */
function shownChild(child: unknown): unknown {
  if (typeof child === "string") return showMarks(child);
  if (!Array.isArray(child)) return child;
  const all = child.map(shownChild);
  return all.every((each, at) => each === child[at]) ? child : all;
}
