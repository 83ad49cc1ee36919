import { Fragment, type JSX } from "react";
import { useCurrentInView } from "./current-in-view.ts";
import "./tabs.css";

/** Parts of a page, each with its own URL; the current tab stays visible in a narrow window. */
export function Tabs<Tab extends string>({
  label,
  tabs,
  chosen,
  link,
}: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly chosen: Tab;
  /** Renders the link of a tab, with the given `aria-current`. */
  readonly link: (tab: Tab, current: "page" | undefined) => JSX.Element;
}): JSX.Element {
  const inView = useCurrentInView(chosen);
  return (
    <nav className="tabs" aria-label={label} ref={inView}>
      {tabs.map((each) => (
        <Fragment key={each}>{link(each, each === chosen ? "page" : undefined)}</Fragment>
      ))}
    </nav>
  );
}
