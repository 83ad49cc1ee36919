import { useSyncExternalStore } from "react";
import type { JSX } from "react";

let message = "";
let listeners: Array<() => void> = [];

/** Makes a screen reader say something that others see. */
export function announce(text: string): void {
  // The same text twice would not be read again.
  message = message === text ? `${text}\u00a0` : text;
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  listeners = [...listeners, listener];
  return () => {
    listeners = listeners.filter((each) => each !== listener);
  };
}

/** Where announcements are read from; once a page. */
export function Announcer(): JSX.Element {
  const text = useSyncExternalStore(subscribe, () => message);
  return (
    <div className="visually-hidden" role="status">
      {text}
    </div>
  );
}
