import type { JSX } from "react";

export function Mark(): JSX.Element {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="currentColor" />
      <path
        d="M6 12c4 0 4 3 8 3s4-3 8-3 2 1.5 4 1.5M6 19c4 0 4 3 8 3s4-3 8-3 2 1.5 4 1.5"
        fill="none"
        stroke="var(--on-accent)"
        strokeWidth="2.6"
        strokeLinecap="round"
      />
    </svg>
  );
}
