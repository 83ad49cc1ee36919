import { useEffect, useState } from "react";
import type { JSX, ReactNode } from "react";
import { Icon } from "./icons.tsx";
import { announce } from "./announce.tsx";

/** A button that copies a text; it says so for a moment. */
export function CopyButton({
  text,
  label,
  children,
}: {
  /** Or what makes or fetches it, where that takes time: it is made when it is copied. */
  readonly text: string | (() => string | Promise<string>);
  /** What is copied, for people who cannot see it. */
  readonly label: string;
  readonly children?: string;
}): JSX.Element {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const [selected, setSelected] = useState<string | null>(null);
  const copy = async (): Promise<void> => {
    let copyable: string;
    try {
      copyable = typeof text === "string" ? text : await text();
    } catch {
      announce(`${label} could not be read`);
      return;
    }
    try {
      // By http and another name than localhost a browser has no clipboard, whatever its types say.
      await navigator.clipboard.writeText(copyable);
      setCopied(true);
      announce(`${label} copied`);
    } catch {
      setSelected(copyable);
    }
  };
  return (
    <>
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
      {selected !== null && (
        <input
          className="input mono copy-text"
          readOnly
          value={selected}
          aria-label={`${label}, to be copied with Ctrl C`}
          ref={(input) => input?.select()}
          onBlur={() => setSelected(null)}
        />
      )}
    </>
  );
}

/** An id with its copy button. Ids begin with their time: the end tells two of them apart. */
export function Id({
  id,
  label,
  children,
}: {
  readonly id: string;
  readonly label: string;
  /** Instead of the id alone, as a link with it. */
  readonly children?: ReactNode;
}): JSX.Element {
  return (
    <span className={children === undefined ? "nowrap" : "wrap"}>
      {children ?? <code title={id}>{shortId(id)}</code>}
      <CopyButton text={id} label={label} />
    </span>
  );
}

export const shortId = (id: string): string => (id.length > 16 ? `${id.slice(0, 4)}…${id.slice(-6)}` : id);

/** Copies the request that a button beside it makes. */
export function CopyCurl({ command }: { readonly command: string }): JSX.Element {
  return (
    <CopyButton text={command} label="request as curl">
      Copy as curl
    </CopyButton>
  );
}
