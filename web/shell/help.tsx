import { Fragment } from "react";
import type { JSX } from "react";
import { Dialog } from "../parts/dialog.tsx";
import { SHORTCUTS } from "./shortcuts.ts";

export function Help({ onClose }: { readonly onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {SHORTCUTS.map(([keys, what]) => (
          <Fragment key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </Fragment>
        ))}
      </dl>
      <p>
        Everything here is in the API too: <a href="/docs">the reference</a>.
      </p>
    </Dialog>
  );
}
