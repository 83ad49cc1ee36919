import { useSyncExternalStore, type JSX } from "react";

let message = "";
let listeners: Array<() => void> = [];

/** Makes a screen reader announce a change that others see. */
export function announce(text: string): void {
  // A screen reader ignores a text that does not change, so a repeated one gets a space.
  message = message === text ? `${text}\u00a0` : text;
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  listeners = [...listeners, listener];
  return () => {
    listeners = listeners.filter((each) => each !== listener);
  };
}

/** The live region for announcements; once per page. */
export function Announcer(): JSX.Element {
  const text = useSyncExternalStore(subscribe, () => message);
  return (
    <div className="visually-hidden" role="status">
      {text}
    </div>
  );
}
