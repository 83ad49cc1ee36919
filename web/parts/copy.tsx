import { useEffect, useState } from "react";
import type { JSX } from "react";
import { Icon } from "./icons.tsx";
import { announce } from "./announce.tsx";

/** A button that copies a text; it says so for a moment. */
export function CopyButton({
  text,
  label,
  children,
}: {
  readonly text: string;
  /** What is copied, for who does not see it. */
  readonly label: string;
  readonly children?: string;
}): JSX.Element {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    announce(`${label} copied`);
  };
  return (
    <button
      type="button"
      className="button button-quiet button-small"
      title={`Copy ${label}`}
      aria-label={children === undefined ? `Copy ${label}` : undefined}
      onClick={() => void copy()}
    >
      <Icon name={copied ? "check" : "copy"} />
      {children}
    </button>
  );
}

/** An id with its copy button. Ids begin with their time: the end tells two of them apart. */
export function Id({ id, label }: { readonly id: string; readonly label: string }): JSX.Element {
  return (
    <span className="nowrap">
      <code title={id}>{shortId(id)}</code>
      <CopyButton text={id} label={label} />
    </span>
  );
}

export const shortId = (id: string): string => (id.length > 16 ? `${id.slice(0, 4)}…${id.slice(-6)}` : id);
