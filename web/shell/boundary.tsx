import { Component } from "react";
import type { ReactNode } from "react";
import { Empty } from "../parts/states.tsx";

/** Keeps the frame when a page fails. A page whose chunk is gone belongs to a version that was replaced meanwhile. */
export class Boundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    const text = error instanceof Error ? error.message : "It did not say why.";
    const isOld = /dynamically imported module|Importing a module script/.test(text);
    return (
      <Empty
        title={isOld ? "There is a new version" : "The page broke"}
        action={
          <button type="button" className="button button-primary" onClick={() => location.reload()}>
            Load the page anew
          </button>
        }
      >
        {isOld ? "The console has been updated since this tab was opened." : text}
      </Empty>
    );
  }
}
