import type { JSX, ReactNode } from "react";
import { CopyButton } from "./copy.tsx";
import { Icon } from "./icons.tsx";
import "./states.css";

/** A placeholder as high as the content, so that the layout does not shift. */
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

/** An empty state: why there is nothing, and how to change that. */
export function Empty({
  title,
  children,
  action,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}): JSX.Element {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}

/** The parts of an error that are shown. */
export interface Fault {
  readonly message: string;
  readonly code: string;
  readonly requestId: string | null;
}

/** An error of the API as it is; a request without a response throws a TypeError, and other errors have no code. */
function faultOf(error: unknown): Fault {
  if (typeof error === "object" && error !== null && "code" in error && "requestId" in error) return error as Fault;
  if (error instanceof TypeError)
    return { message: "Cannot reach the server.", code: "no_connection", requestId: null };
  return { message: error instanceof Error ? error.message : String(error), code: "unexpected", requestId: null };
}

/** An error message with the request ID for the logs, and a button to retry. */
export function Failure({
  fault: error,
  retry,
}: {
  readonly fault: unknown;
  readonly retry?: () => void;
}): JSX.Element {
  const fault = faultOf(error);
  return (
    <div className="notice notice-bad" role="alert">
      <Icon name="warning" />
      <span className="wrap">
        {fault.message} <code>{fault.code}</code>
      </span>
      {fault.requestId !== null && (
        <CopyButton text={fault.requestId} label="request ID">
          Request ID
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

/** Shown after a save failed because someone else had saved first; the form already shows the newer values. */
export function ChangedMeanwhile(): JSX.Element {
  return (
    <Notice tone="warn">
      Someone else changed this, so your change was not saved. The current values are shown. Review them and save again.
    </Notice>
  );
}
