import type { JSX, ReactNode } from "react";

/** A button with an icon; its name and key are in the tooltip. */
export function Tool({
  label,
  keys,
  disabled = false,
  pressed,
  onClick,
  children,
}: {
  readonly label: string;
  readonly keys?: string;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}): JSX.Element {
  return (
    <button
      type="button"
      className="canvas-tool"
      aria-label={label}
      title={keys === undefined ? label : `${label} (${keys})`}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
