import { useEffect, useState, type JSX, type ReactNode } from "react";
import { Icon } from "./icons.tsx";
import { announce } from "./announce.tsx";

/** A button that copies a text and confirms it for a moment. */
export function CopyButton({
  text,
  label,
  children,
}: {
  /** The text, or a function that makes or fetches it when the button is pressed. */
  readonly text: string | (() => string | Promise<string>);
  /** Accessible name of the copied value. */
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
      announce(`Could not load ${label}`);
      return;
    }
    try {
      // Over plain HTTP on a host other than localhost, a browser has no clipboard, although its types declare one.
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
          aria-label={`${label}: press Ctrl+C to copy`}
          ref={(input) => input?.select()}
          onBlur={() => setSelected(null)}
        />
      )}
    </>
  );
}

/** A shortened ID with its copy button. IDs begin with a timestamp, so the end tells them apart. */
export function Id({
  id,
  label,
  children,
}: {
  readonly id: string;
  readonly label: string;
  /** Replaces the plain ID, for example by a link that contains it. */
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

/** Copies, as a curl command, the request that the button beside it sends. */
export function CopyCurl({ command }: { readonly command: string }): JSX.Element {
  return (
    <CopyButton text={command} label="request as curl">
      Copy as curl
    </CopyButton>
  );
}
