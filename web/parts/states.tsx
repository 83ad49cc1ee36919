import type { JSX, ReactNode } from "react";
import { CopyButton } from "./copy.tsx";
import { Icon } from "./icons.tsx";
import "./states.css";

/** As high as the content it stands for, so that nothing jumps. */
export function Loading({ rows = 6, what }: { readonly rows?: number; readonly what: string }): JSX.Element {
  return (
    <div className="skeleton" role="status">
      <span className="visually-hidden">Loading {what}</span>
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} aria-hidden="true" />
      ))}
    </div>
  );
}

/** An empty state: why nothing is there, and what can be done. */
export function Empty({
  title,
  children,
  action,
}: {
  readonly title: string;
  readonly children: ReactNode;
  readonly action?: ReactNode;
}): JSX.Element {
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
    </div>
  );
}

/** What a failure shows of itself. */
export interface Fault {
  readonly message: string;
  readonly code: string;
  readonly requestId: string | null;
}

/** Something could not be read or done, with what finds it in the log, and a way to try again. */
export function Failure({ fault, retry }: { readonly fault: Fault; readonly retry?: () => void }): JSX.Element {
  return (
    <div className="notice notice-bad" role="alert">
      <Icon name="warning" />
      <span className="wrap">
        {fault.message} <code>{fault.code}</code>
      </span>
      {fault.requestId !== null && (
        <CopyButton text={fault.requestId} label="request id">
          Request id
        </CopyButton>
      )}
      {retry && (
        <button type="button" className="button button-small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Notice({
  tone,
  children,
}: {
  readonly tone: "good" | "warn" | "bad" | "info";
  readonly children: ReactNode;
}): JSX.Element {
  return (
    <div className={`notice notice-${tone}`} role="status">
      {children}
    </div>
  );
}

/** A save was refused because somebody else had saved first; what that is, the form shows by then. */
export function ChangedMeanwhile(): JSX.Element {
  return (
    <Notice tone="warn">
      Somebody else has changed this meanwhile, so nothing was saved. What is set now is shown: look at it, and save
      again if it should still be changed.
    </Notice>
  );
}
