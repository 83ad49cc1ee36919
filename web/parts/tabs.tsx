import { Fragment } from "react";
import type { JSX } from "react";
import { useCurrentInView } from "./current-in-view.ts";

/** Parts of a page that have addresses of their own; the chosen one is in view, however narrow the window. */
export function Tabs<Tab extends string>({
  label,
  tabs,
  chosen,
  link,
}: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly chosen: Tab;
  /** The link to a tab, with the `aria-current` that it takes. */
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
