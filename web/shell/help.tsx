import { Fragment } from "react";
import type { JSX } from "react";
import { Dialog } from "../parts/dialog.tsx";
import { SHORTCUTS, TIMELINE_KEYS } from "./shortcuts.ts";

export function Help({ onClose }: { readonly onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <Keys keys={SHORTCUTS} />
      <h3>In the timeline of a run</h3>
      <Keys keys={TIMELINE_KEYS} />
      <p>
        Everything here is in the API too: <a href="/docs">the reference</a>.
      </p>
    </Dialog>
  );
}

function Keys({ keys: all }: { readonly keys: typeof SHORTCUTS }): JSX.Element {
  return (
    <dl className="keys">
      {all.map(([keys, what]) => (
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
  );
}
