import { Fragment, type JSX } from "react";
import { Dialog } from "../parts/dialog.tsx";
import { EDITOR_KEYS, SHORTCUTS, TIMELINE_KEYS } from "./keys.ts";
import "./help.css";

export function Help({ onClose }: { readonly onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <Keys keys={SHORTCUTS} />
      <h3>In the timeline of a run</h3>
      <Keys keys={TIMELINE_KEYS} />
      <h3>In the editor of a flow</h3>
      <Keys keys={EDITOR_KEYS} />
      <p>
        Everything in the console is also in the API. See the <a href="/docs">API reference</a>.
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
