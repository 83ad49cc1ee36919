import type { JSX } from "react";
import { CopyButton } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";
import { Notice } from "./states.tsx";
import "./value.css";

/** A new secret, which is shown only once. */
export function ShownOnce({
  title,
  what,
  secret,
  note,
  onClose,
}: {
  readonly title: string;
  /** What the secret is, for the copy button: "key". */
  readonly what: string;
  readonly secret: string;
  readonly note: string;
  readonly onClose: () => void;
}): JSX.Element {
  return (
    <Dialog title={title} onClose={onClose}>
      <Notice tone="warn">{note}</Notice>
      <code className="value-box wrap">{secret}</code>
      <div className="row">
        <CopyButton text={secret} label={what}>{`Copy ${what}`}</CopyButton>
        <button type="button" className="button" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
