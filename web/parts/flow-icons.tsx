import type { JSX } from "react";

/** Icons of node types, by the name that the API gives, and of the editor. Apart from icons.tsx, so that only pages with flows load them. */
const PATHS: Readonly<Record<string, string>> = {
  braces:
    "M6 2.500c-2 0-2 1-2 2.500S4 7.500 2.500 8C4 8.500 4 9.500 4 11s0 2.500 2 2.500M10 2.500c2 0 2 1 2 2.500s0 2.500 1.500 3C12 8.500 12 9.500 12 11s0 2.500-2 2.500",
  branch: "M4 2.500v11M4 11.500C4 7 12 9.500 12 4.500M10 6l2-2 2 2",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.500V8l2.500 1.500",
  code: "m5.500 4.500-3.500 3.500 3.500 3.500M10.500 4.500 14 8l-3.500 3.500",
  document: "M4 2h5l3 3v9H4zM9 2v3h3M6 8.500h4M6 11h4",
  flow: "M2.500 2.500h4v4h-4zM9.500 9.500h4v4h-4zM6.500 4.500H10a1.500 1.500 0 0 1 1.500 1.500v3.500",
  globe: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM2 8h12M8 2c2 2 2.500 4 2.500 6S10 12 8 14c-2-2-2.500-4-2.500-6S6 4 8 2z",
  input: "M6.500 3H13v10H6.500M2 8h7.500M7 5.500 9.500 8 7 10.500",
  link: "M6.500 9.500a2.500 2.500 0 0 0 3.500 0l2.500-2.500A2.500 2.500 0 0 0 9 3.500l-1 1M9.500 6.500a2.500 2.500 0 0 0-3.500 0L3.500 9A2.500 2.500 0 0 0 7 12.500l1-1",
  list: "M6 4h7.500M6 8h7.500M6 12h7.500M2.500 4h.5M2.500 8h.5M2.500 12h.5",
  loop: "M3 7a5 5 0 0 1 8.500-2.500l1.500 2M13 3v3.500H9.500M13 9a5 5 0 0 1-8.500 2.500L3 9.500M3 13V9.500h3.500",
  microphone: "M8 2a2 2 0 0 0-2 2v3.500a2 2 0 0 0 4 0V4a2 2 0 0 0-2-2zM3.500 7.500a4.500 4.500 0 0 0 9 0M8 12v2",
  output: "M9.500 3H3v10h6.500M6.500 8H14M11.500 5.500 14 8l-2.500 2.500",
  paragraph: "M3 3.500h10M3 6.500h10M3 9.500h10M3 12.500h6",
  person: "M8 8a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM3 13.500c0-2.500 2.200-3.500 5-3.500s5 1 5 3.500",
  picture: "M2.500 3h11v10h-11zM2.500 11.500 6 8l3 3 2-2 2.500 2.500M10.500 5.800v.2",
  plug: "M6 2v3M10 2v3M4.500 5h7v2.500a3.500 3.500 0 0 1-7 0zM8 11v3",
  routes: "M2.500 8H6M6 8c2.500 0 2.500-4.500 5-4.500h2.500M6 8h7.500M6 8c2.500 0 2.500 4.500 5 4.500h2.500",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.500 10.500 14 14",
  shield: "M8 2 3 4v4c0 3 2 5 5 6 3-1 5-3 5-6V4zM5.800 8l1.700 1.500 2.800-3",
  sparkle:
    "M7 2.500 8.300 6.200 12 7.500 8.300 8.800 7 12.500 5.700 8.800 2 7.500 5.700 6.200zM12.500 10.500v3M11 12h3",
  text: "M3.500 4.500V3h9v1.500M8 3v10M6.500 13h3",
  // Of the editor
  undo: "M3 6.500h6.500a3.500 3.500 0 0 1 0 7H6M5.500 4 3 6.500 5.500 9",
  redo: "M13 6.500H6.500a3.500 3.500 0 0 0 0 7H10M10.500 4 13 6.500 10.500 9",
  tidy: "M2.500 2.500h4v3h-4zM2.500 10.500h4v3h-4zM9.500 6.500h4v3h-4zM6.500 4h1.500v8H6.500M8 8h1.500",
  note: "M3 3h10v6.500L9.500 13H3zM13 9.500H9.500V13M5.500 6h5M5.500 8.500h2.500",
  lock: "M4 7.500h8v6H4zM5.500 7.500V5.500a2.500 2.500 0 0 1 5 0v2",
  unlock: "M4 7.500h8v6H4zM5.500 7.500V5a2.500 2.500 0 0 1 4.800-1",
  trash: "M3 4.500h10M6 4.500V3h4v1.500M4.500 4.500l.5 9h6l.5-9M7 7v4M9 7v4",
  pin: "M6 2.500h4M6.500 2.500v4L4.500 9h7l-2-2.500v-4M8 9v4.500",
  history: "M3 8a5 5 0 1 1 1.500 3.500M3 5v3h3M8 5.500V8l2 1.500",
  fit: "M2.500 5.500v-3h3M10.500 2.500h3v3M13.500 10.500v3h-3M5.500 13.500h-3v-3M6 6h4v4H6z",
  align: "M2.500 2.500v11M5 4.500h8v2.500H5zM5 9h5v2.500H5z",
  more: "M4 8h.1M8 8h.1M12 8h.1",
};
const NEUTRAL = "M3 3h10v10H3z";

export function FlowIcon({
  name,
  className = "",
}: {
  readonly name: string;
  readonly className?: string;
}): JSX.Element {
  return (
    <svg className={`icon ${className}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path
        d={Object.hasOwn(PATHS, name) ? PATHS[name] : NEUTRAL}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
