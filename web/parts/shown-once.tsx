import type { JSX } from "react";
import { CopyButton } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";
import { Notice } from "./states.tsx";

/** A secret that has just been made, for the only time. */
export function ShownOnce({
  title,
  what,
  secret,
  note,
  onClose,
}: {
  readonly title: string;
  /** As it is copied: "key". */
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
        <CopyButton text={secret} label={what}>{`Copy the ${what}`}</CopyButton>
        <button type="button" className="button" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
