import type { JSX } from "react";

/** Drawn on a grid of 16 in the text colour. An icon never carries meaning alone: it has a word beside it or labels a button. */
const PATHS = {
  home: "M2.500 7 8 2.500 13.500 7v6.500h-4v-4h-3v4h-4z",
  runs: "M4.500 3v10l8-5z",
  inbox: "M2.500 9.500 4 3h8l1.500 6.500v3.500h-11zM2.500 9.500H6l.8 1.500h2.400l.8-1.500h3.500",
  webhooks:
    "M8 3.500a2 2 0 1 1 1.200 3.600L11 10m.5 2.500a2 2 0 1 0-1-3.700M5 10.500h5.500M4.500 12.500a2 2 0 1 1 .8-3.800L7 5.800",
  access: "M8 8a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM3 13.500c0-2.500 2.200-3.500 5-3.500s5 1 5 3.500",
  settings: "M2.500 4.500h6m3 0h2M2.500 11.500h2m3 0h6M10 3v3M6 10v3",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.500 10.500 14 14",
  check: "m3 8.500 3.500 3.500L13 4.500",
  cross: "m4 4 8 8M12 4l-8 8",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.500V8l2.500 1.500",
  pause: "M5.500 3.500v9M10.500 3.500v9",
  stop: "M4 4h8v8H4z",
  retry: "M13 8a5 5 0 1 1-1.500-3.500M13 2v3h-3",
  skip: "M3 8h9M9 4.500 12.500 8 9 11.500",
  spin: "M8 2a6 6 0 1 1-6 6",
  copy: "M5.500 5.500h7v7h-7zM3.500 10.500v-7h7",
  chevron: "m6 3.500 4.500 4.500L6 12.500",
  menu: "M2.500 4h11M2.500 8h11M2.500 12h11",
  warning: "M8 2.500 14 13.500H2zM8 6.500v3.500M8 11.800v.2",
  plus: "M8 3v10M3 8h10",
  open: "M6 3H3v3M10 3h3v3M6 13H3v-3M10 13h3v-3",
  compare: "M2.500 3.500h4.500v9H2.500zM9 3.500h4.500v9H9z",
  minus: "M3 8h10",
  sun: "M8 5.200a2.800 2.800 0 1 0 0 5.600 2.800 2.800 0 0 0 0-5.600zM8 1.500v1.300M8 13.200v1.300M1.500 8h1.300M13.200 8h1.300M3.400 3.400l.9.9M11.700 11.700l.9.9M12.600 3.400l-.9.9M4.300 11.700l-.9.9",
  flows: "M2.500 2.500h4.500v4H2.500zM9 9.500h4.500v4H9zM4.700 6.500v5H9",
  connections: "M6 2v3.500M10 2v3.500M4 5.500h8V8a4 4 0 0 1-8 0zM8 12v2",
  usage: "M3 13.500V9M8 13.500v-11M13 13.500v-7",
  background: "m8 2.500 6 3-6 3-6-3zM2.500 8.300 8 11l5.500-2.700M2.500 11 8 13.700l5.500-2.700",
  retention: "M2.500 3h11v3.500h-11zM3.500 6.500V13h9V6.500M6.500 9.500h3",
  folder: "M2 4.500v8h12V5.500H8L6.500 3.500H2z",
  pencil: "m3 13 .8-3L10.500 3.300l2.200 2.200L6 12.200zM9 4.800 11.200 7",
  code: "M5.500 4.500 2 8l3.500 3.500M10.500 4.500 14 8l-3.500 3.500",
  chat: "M2.500 3h11v8H7l-3.500 2.500V11h-1z",
  fork: "M4.500 2.500v11M4.500 9c0-3 7-2 7-5.500M9.500 5l2-2 2 2",
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name, className = "" }: { readonly name: IconName; readonly className?: string }): JSX.Element {
  return (
    <svg className={`icon ${className}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
